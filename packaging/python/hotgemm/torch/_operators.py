"""The operators: torch.ops.hotgemm.linear and .linear_with_aux, with fake kernels, autograd, autocast and vmap."""

from __future__ import annotations

import threading

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad

from . import _adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

ACTIVATIONS = ("none", "relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh")  # by their numbers in C

_ARGUMENTS = ("(Tensor x, Tensor weight, Tensor? bias=None, str activation='none', Tensor? residual=None, "
              "float alpha=1.0)")
_library = torch.library.Library("hotgemm", "DEF")
for _name, _result in (("linear", "Tensor"), ("linear_with_aux", "(Tensor, Tensor)")):
    _library.define(f"{_name}{_ARGUMENTS} -> {_result}")
    # What libhotgemm_torch.so passes on. With a number: PyTorch 2.10 loses the memory of a text that C++ hands it.
    _library.define(f"{_name}_by_torch(Tensor x, Tensor weight, Tensor? bias, int activation, Tensor? residual, "
                    f"float alpha) -> {_result}")
# The result, or whether there is one: operands with an error, and an out of another form, are left to aten::addmm.
_library.define("addmm(Tensor self, Tensor mat1, Tensor mat2, float beta, float alpha) -> Tensor?")
_library.define("addmm_out(Tensor self, Tensor mat1, Tensor mat2, float beta, float alpha, Tensor(a!) out) -> bool")

_KERNELS = {"linear": "hotgemm_torch_linear", "linear_with_aux": "hotgemm_torch_linear_with_aux",
            "addmm": "hotgemm_torch_addmm", "addmm_out": "hotgemm_torch_addmm_out"}
_lock = threading.Lock()
_registered: dict[str, Any] = {}


def register_kernels(key: str) -> None:
    """Registers the kernels of libhotgemm_torch.so; the CPU's are for tests of hotgemm."""
    with _lock:
        if key not in _registered:
            _registered[key] = _adapter.Kernels("hotgemm", key, _KERNELS)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
           residual: Tensor | None = None, alpha: float = 1.0) -> Tensor:
    """activation(alpha · x · weightᵀ + bias) + residual, by one kernel.

    x: [..., k]. weight: [n, k]. bias: [n]. residual and the result: [..., n]. All of one type: f16, bf16 or f32. activation:
    "none", "relu", "gelu" (with tanh), "gelu_erf", "silu", "sigmoid" or "tanh". What no kernel of hotgemm computes is
    computed by PyTorch, on any device. If a gradient is needed, the values before the activation are kept for it.

    Raises RuntimeError for wrong sizes, types and devices, and for another activation.
    """
    if activation != "none" and torch.is_grad_enabled() and _needs_grad(x, weight, bias):
        return torch.ops.hotgemm.linear_with_aux(x, weight, bias, activation, residual, alpha)[0]
    return torch.ops.hotgemm.linear(x, weight, bias, activation, residual, alpha)


def _needs_grad(*tensors: Tensor | None) -> bool:
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


# ---- by PyTorch: any device, any type ----


def _activated(value: Tensor, activation: str) -> Tensor:
    if activation == "none":
        return value
    if activation == "gelu":
        return F.gelu(value, approximate="tanh")
    if activation == "gelu_erf":
        return F.gelu(value)
    return {"relu": torch.relu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[activation](value)


def _check(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str, residual: Tensor | None,
           batch: int = 0) -> None:
    """`batch` is the number of dimensions that all tensors have in front."""
    if activation not in ACTIVATIONS:
        raise RuntimeError(f"hotgemm::linear: there is no activation '{activation}'; there are {', '.join(ACTIVATIONS)}")
    shape, weight_shape = tuple(x.shape[batch:]), tuple(weight.shape[batch:])
    if len(weight_shape) != 2 or not shape:
        raise RuntimeError(f"hotgemm::linear: x has {len(shape)} dimensions and weight {len(weight_shape)}; at least 1 "
                           "and 2 are needed")
    if shape[-1] != weight_shape[1]:
        raise RuntimeError(f"hotgemm::linear: x and weight shapes cannot be multiplied ({shape} and {weight_shape})")
    for name, tensor in (("weight", weight), ("bias", bias), ("residual", residual)):
        if tensor is not None and tensor.dtype != x.dtype:
            raise RuntimeError(f"hotgemm::linear: expected x and {name} to have the same dtype")
    result_shape = (*shape[:-1], weight_shape[0])
    if bias is not None and bias.shape[batch:] != result_shape[-1:]:
        raise RuntimeError(f"hotgemm::linear: bias has the shape {tuple(bias.shape[batch:])}, the result "
                           f"{result_shape}")
    if residual is not None and residual.shape[batch:] != result_shape:
        raise RuntimeError(f"hotgemm::linear: residual has the shape {tuple(residual.shape[batch:])}, the result "
                           f"{result_shape}")


def _rows(tensor: Tensor, batch: int = 0) -> Tensor:
    """All dimensions but the last, and `batch` in front, as rows. reshape(-1, n) has no answer for an n of 0."""
    return tensor.unsqueeze(batch).flatten(batch, -2)


def _before_activation(x: Tensor, weight: Tensor, bias: Tensor | None, alpha: float, batch: int) -> Tensor:
    if alpha == 1.0 and not batch:
        return F.linear(x, weight, bias)
    # alpha within the product: a product that is rounded before may be infinite.
    multiply = torch.baddbmm if batch else torch.addmm
    addend = x.new_zeros((1,) * (batch + 2)) if bias is None else bias.unsqueeze(-2)
    value = multiply(addend, _rows(x, batch), weight.mT, beta=int(bias is not None), alpha=alpha)
    return value.view(*x.shape[:-1], weight.shape[-2])


def _linear_with_aux_by_torch(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
                              residual: Tensor | None = None, alpha: float = 1.0,
                              batch: int = 0) -> tuple[Tensor, Tensor]:
    _check(x, weight, bias, activation, residual, batch)
    aux = _before_activation(x, weight, bias, alpha, batch)
    value = _activated(aux, activation)
    if residual is not None:
        value = value + residual
    return (value.clone() if value is aux else value), aux


def _linear_by_torch(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
                     residual: Tensor | None = None, alpha: float = 1.0, batch: int = 0) -> Tensor:
    _check(x, weight, bias, activation, residual, batch)
    value = _activated(_before_activation(x, weight, bias, alpha, batch), activation)
    return value if residual is None else value + residual


def _register_by_torch(name: str, compute: Any) -> None:
    def numbered(x: Tensor, weight: Tensor, bias: Tensor | None, activation: int, residual: Tensor | None,
                 alpha: float) -> Any:
        return compute(x, weight, bias, ACTIVATIONS[activation], residual, alpha)

    _library.impl(name, compute, "CompositeExplicitAutograd")
    _library.impl(name + "_by_torch", numbered, "CompositeExplicitAutograd")


_register_by_torch("linear", _linear_by_torch)
_register_by_torch("linear_with_aux", _linear_with_aux_by_torch)


# ---- fake ----


def _result_like(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str, residual: Tensor | None) -> Tensor:
    _check(x, weight, bias, activation, residual)
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _fake_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
                 residual: Tensor | None = None, alpha: float = 1.0) -> Tensor:
    return _result_like(x, weight, bias, activation, residual)


def _fake_linear_with_aux(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
                          residual: Tensor | None = None, alpha: float = 1.0) -> tuple[Tensor, Tensor]:
    result = _result_like(x, weight, bias, activation, residual)
    return result, torch.empty_like(result)


torch.library.register_fake("hotgemm::linear", _fake_linear, lib=_library)
torch.library.register_fake("hotgemm::linear_with_aux", _fake_linear_with_aux, lib=_library)


# ---- autograd ----


def _activation_backward(grad: Tensor, aux: Tensor, activation: str) -> Tensor:
    """The gradient before the activation, of that behind it."""
    aten = torch.ops.aten
    if activation == "none":
        return grad
    if activation == "relu":
        return aten.threshold_backward(grad, aux, 0)
    if activation in ("gelu", "gelu_erf"):
        return aten.gelu_backward(grad, aux, approximate="tanh" if activation == "gelu" else "none")
    if activation == "silu":
        if not torch.is_grad_enabled():
            return aten.silu_backward(grad, aux)
        sigmoid = torch.sigmoid(aux)  # silu_backward has no derivative
        return grad * sigmoid * (1 + aux * (1 - sigmoid))
    if activation == "sigmoid":
        return aten.sigmoid_backward(grad, torch.sigmoid(aux))
    return aten.tanh_backward(grad, torch.tanh(aux))


def _needs(ctx: Any, argument: int) -> bool:
    """Whether the gradient of an argument is needed; arguments at the end that were left out are not listed."""
    return argument < len(ctx.needs_input_grad) and ctx.needs_input_grad[argument]


def _product_backward(ctx: Any, grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Any, Any, Any]:
    """The gradients of x, weight and bias, of that of alpha · x · weightᵀ + bias. They are products of hotgemm too."""
    multiply = torch.ops.hotgemm.linear
    grad_x = grad_weight = grad_bias = None
    if _needs(ctx, 0):
        grad_x = multiply(grad, weight.t(), None, "none", None, ctx.alpha)
    if _needs(ctx, 1):
        grad_weight = multiply(_rows(grad).t(), _rows(x).t(), None, "none", None, ctx.alpha)
    if _needs(ctx, 2):
        grad_bias = _rows(grad).sum(0)
    return grad_x, grad_weight, grad_bias


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, weight, bias, ctx.activation, _, ctx.alpha = inputs
    aux = output[1] if isinstance(output, tuple) else None
    ctx.save_for_backward(x, weight, bias if aux is None and ctx.activation != "none" else None, aux)


def _linear_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    x, weight, bias, _ = ctx.saved_tensors
    before = grad
    if ctx.activation != "none":
        aux = torch.ops.hotgemm.linear(x, weight, bias, "none", None, ctx.alpha)
        before = _activation_backward(grad, aux, ctx.activation)
    return (*_product_backward(ctx, before, x, weight), None, grad if _needs(ctx, 4) else None, None)


def _linear_with_aux_backward(ctx: Any, grad: Tensor, grad_aux: Tensor) -> tuple[Any, ...]:
    x, weight, _, aux = ctx.saved_tensors
    before = _activation_backward(grad, aux, ctx.activation) + grad_aux
    return (*_product_backward(ctx, before, x, weight), None, grad if _needs(ctx, 4) else None, None)


def _is_transformed(arguments: tuple[Any, ...]) -> bool:
    """Whether torch.func differentiates the call, or an argument has a tangent."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    if forward_ad._current_level < 0:
        return False
    return any(isinstance(argument, torch.Tensor) and forward_ad.unpack_dual(argument).tangent is not None
               for argument in arguments)


class _Autograd:
    """In place of a library, for torch.library.register_autograd: its kernel drops tangents without an error, and raises
    one under torch.func. There `compute` is called, whose operators PyTorch differentiates itself."""

    def __init__(self, compute: Any) -> None:
        self._compute = compute

    def impl(self, name: str, kernel: Any, key: str, *, with_keyset: bool) -> None:
        def differentiated(keyset: Any, *arguments: Any) -> Any:
            return self._compute(*arguments) if _is_transformed(arguments) else kernel(keyset, *arguments)

        _library.impl(name, differentiated, key, with_keyset=with_keyset)


for _name, _compute, _backward in (("linear", _linear_by_torch, _linear_backward),
                                   ("linear_with_aux", _linear_with_aux_by_torch, _linear_with_aux_backward)):
    torch.library.register_autograd("hotgemm::" + _name, _backward, setup_context=_save, lib=_Autograd(_compute))


# ---- autocast, vmap ----


def _register_autocast(name: str, device: str) -> None:
    operator = getattr(torch.ops.hotgemm, name).default

    def cast(tensor: Tensor | None, to: torch.dtype) -> Tensor | None:
        castable = tensor is not None and tensor.is_floating_point() and tensor.dtype != torch.float64
        return tensor.to(to) if castable and tensor.device.type == device else tensor

    def autocast(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none",
                 residual: Tensor | None = None, alpha: float = 1.0) -> Any:
        to = torch.get_autocast_dtype(device)
        with torch.autocast(device, enabled=False):
            return operator(cast(x, to), cast(weight, to), cast(bias, to), activation, cast(residual, to), alpha)

    _library.impl(name, autocast, "Autocast" + device.upper())


def _register_vmap(name: str, compute: Any) -> None:
    operator = getattr(torch.ops.hotgemm, name).default

    def vmap(info: Any, in_dims: tuple[Any, ...], x: Tensor, weight: Tensor, bias: Tensor | None = None,
             activation: str = "none", residual: Tensor | None = None, alpha: float = 1.0) -> Any:
        dims = (*in_dims, *(None,) * (6 - len(in_dims)))

        def batched(tensor: Tensor | None, dim: int | None) -> Tensor | None:
            if tensor is None:
                return None
            return tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)

        x, residual = batched(x, dims[0]), batched(residual, dims[4])
        if dims[1] is None and dims[2] is None and x.dim() > 1:  # the samples are further rows
            result = operator(x, weight, bias, activation, residual, alpha)
        else:
            result = compute(x, batched(weight, dims[1]), batched(bias, dims[2]), activation, residual, alpha, 1)
        return result, (0, 0) if isinstance(result, tuple) else 0

    torch.library.register_vmap("hotgemm::" + name, vmap, lib=_library)


for _name, _compute in (("linear", _linear_by_torch), ("linear_with_aux", _linear_with_aux_by_torch)):
    _register_autocast(_name, "cuda")
    _register_autocast(_name, "cpu")
    _register_vmap(_name, _compute)

if _adapter.serves("CUDA"):
    register_kernels("CUDA")
