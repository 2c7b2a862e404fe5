"""The product of two arrays."""

from __future__ import annotations

import functools

from . import _arrays, _c, _call, _context, _direct, _product
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_gemm: Any = None  # the C function, once the library is open


def _matmul(a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None,
            activation: str | None = None, residual: Any = None, aux: Any = None, scale_a: Any = None,
            scale_b: Any = None, scale_d: Any = None, group_offsets: Any = None, group_counts: Any = None,
            dtype: str | None = None, compute: str | None = None, mode: str | None = None, order: str | None = None, sm_limit: int = 0,
            only: str | None = None, prepare_later: bool = False, stream: Any = None, context: _context.Context | None = None) -> Any:
    """Enqueues out = (activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias) + residual) * scale_d.

    Returns out. The call does not wait for the GPU. Parts that are not given are left out. They are computed in the
    kernel of the product, in f32, and rounded once.

    Arrays are tensors of PyTorch, arrays of CuPy, or objects with `__dlpack__` or `__cuda_array_interface__`, all on one
    CUDA device. Rows or columns of a, b and out are contiguous; transposed views cost nothing. If rows of
    out are contiguous, rows of c, residual and aux are too; else their columns are.

    Args:
      a: (m, k), or (batch, m, k). Elements of float16, bfloat16, float32, float8_e4m3fn, float8_e5m2 or int8.
      b: (k, n), or (batch, k, n). If only one of a and b is a batch, or its batch is 1, all products share the other.
      out: (m, n), or (batch, m, n); must not overlap with a or b. None: PyTorch or CuPy, whose a is, allocates it.
      alpha, beta: numbers, or arrays of one float32 on the device, which the kernel reads when it runs.
      c: of out's shape and type. None: out itself, if beta is not zero.
      bias: (n,) or (1, n), an element for each column; or (m, 1), for each row. Of out's type; bfloat16 for an out of
        8-bit floats, float32 for one of int8.
      activation: "relu", "gelu" (with tanh), "gelu_erf", "silu", "sigmoid", "tanh"; or with a d in front,
        as "dgelu": the value times the slope of that activation at aux.
      residual: of out's shape and type; may be out itself.
      aux: of out's shape and type; written: the value before the activation, for a backward pass. A derivative reads it.
      scale_a: float32 on the device: one, or (m,), a factor for each row.
      scale_b: float32 on the device: one, or (n,), a factor for each column.
      scale_d: one float32 on the device, a factor before the result is rounded.
      group_offsets: int32 on the device, (groups + 1,), for rows of a that are multiplied with matrices of their own: b is
        (groups, k, n), and rows group_offsets[g] to group_offsets[g + 1] - 1 of out are those of a times b[g]. The kernel
        reads them when it runs. Rows of out behind the last offset keep their values. If b has two dimensions, groups divide
        k: out is (groups, m, n), and out[g] is a[:, begin:end] @ b[begin:end] with the offsets of g; columns of a and rows
        of b are contiguous.
      group_counts: int32 on the device, (groups,): rows of a[g] and out[g] that there are, of (groups, m, k) and
        (groups, m, n); b is (groups, k, n). The other rows of out keep their values. A bias may be (groups, n) for all
        kinds of groups; (groups, m, 1) and a scale_a of (groups, m) have an element for each row.
      dtype: the type of out: "float32". None: that of the out that is given, else that of a; int32 for int8, bfloat16 for
        8-bit floats.
      compute: the arithmetic of the sum over k: "f32", "f16", "tf32", "s32". None: s32 for int8, else f32.
      mode: "precise", or "fast", which differs for 8-bit floats.
      order: "any", "deterministic" (equal calls give equal bits), "batch_invariant" (and so do equal rows, whatever m).
      sm_limit: the most SMs that the kernel may occupy. 0: all.
      only: raises NotPrepared at once, without planning or compiling, unless the class of the problem has a plan:
        "prepared", any; "tuned", of a kernel that was measured; "as_fast", one that its record says takes at
        most 1 % longer than cuBLAS's default.
      prepare_later: beside `only`: a thread of the library makes the plan that was missing.
      stream: a stream or its handle. None: the framework's current stream; for other arrays the one that
        `__cuda_array_interface__` names, else the legacy default stream.
      context: None: the default one.

    Raises:
      InvalidArgument: (a ValueError) shapes, strides or types that do not fit; the message names argument and shape.
      TypeError: not an array.
      NotSupported: no kernel computes it on this GPU.
      NotPrepared: because of `only`, or the policy "cached_only".
      Error: anything else; nothing has been enqueued, and out keeps its values.
    """
    if stream is not None:
        stream = _arrays.handle_of(stream)
    if out is None:
        out = _result(a, b, dtype, stream, group_offsets, group_counts)
    elif dtype is not None:
        _require_type(out, dtype)
    handle = _context.default_handle() if context is None else _context.handle_of(context)
    call = _call.ready(a, b, out, alpha, beta, c, bias, activation, residual, aux, scale_a, scale_b, scale_d, compute,
                       mode, order, sm_limit, only, prepare_later, stream, group_offsets, group_counts)
    try:
        if stream is None:
            stream = call.stream()
        gemm = _gemm or _open()
        if call.elsewhere is None:
            status = gemm(handle, call.problem_at, call.operands_at, stream, call.call_at)
        else:
            with call.on_device():
                status = gemm(handle, call.problem_at, call.operands_at, stream, call.call_at)
    finally:
        call.is_busy = False
    if status:
        raise _c.failure(status)
    call.note_written(out, aux)
    return out


_matmul.__name__ = _matmul.__qualname__ = "matmul"  # as it is called in errors
if TYPE_CHECKING:
    matmul = _matmul
else:
    @functools.wraps(_matmul)
    def matmul(a, b, out=None, **options):
        # A plain product of PyTorch's tensors costs 2 µs beside the launch. To fill in and compare the options would add 1.
        if not options:
            multiply = _direct.products.get(a.__class__)
            if (multiply is not None and _direct.products.get(b.__class__) is multiply
                    and _direct.products.get(out.__class__) is multiply):
                status = multiply(a, b, out)
                if status == 0:
                    _direct.wrote((out,))
                    return out
                if status != _direct.LEFT_TO_PYTHON:
                    raise _c.failure(status)
        return _matmul(a, b, out, **options)


def problem(a: Any, b: Any, out: Any = None, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None,
            activation: str | None = None, residual: Any = None, aux: Any = None, scale_a: Any = None,
            scale_b: Any = None, scale_d: Any = None, group_offsets: Any = None, group_counts: Any = None,
            dtype: str | None = None, compute: str | None = None, mode: str | None = None, order: str | None = None, sm_limit: int = 0) -> str:
    """The text of the problem that `matmul` with these arguments computes: a line for `tune`, `prewarm`, `bench` and
    shape files, such as "4096 4096 512 nt bf16 align=16". Launches nothing."""
    if out is None:
        out = _result(a, b, dtype, None, group_offsets, group_counts)
    elif dtype is not None:
        _require_type(out, dtype)
    call = _call.ready(a, b, out, alpha, beta, c, bias, activation, residual, aux, scale_a, scale_b, scale_d, compute,
                       mode, order, sm_limit, None, False, None, group_offsets, group_counts)
    try:
        return _c.text(_c.library().problem_text, call.problem_at, call.operands_at)
    finally:
        call.is_busy = False


def _require_type(out: Any, dtype: str) -> None:
    has = _arrays.NAMES[_call.views_of(None, out=out)["out"].type]
    if has != dtype:
        raise InvalidArgument(f"dtype is {dtype!r}, and out has elements of type {has}")


def _result(a: Any, b: Any, dtype: str | None, stream: int | None, group_offsets: Any, group_counts: Any) -> Any:
    groups = {"group_offsets": group_offsets, "group_counts": group_counts}
    views = _call.views_of(stream, a=a, b=b, **{name: array for name, array in groups.items() if array is not None})
    shape = _product.result_shape(views)
    if dtype is not None and not (isinstance(dtype, str) and dtype in _arrays.NAMES.values()):
        raise InvalidArgument(f"dtype is {dtype!r}; expected {', '.join(_arrays.NAMES.values())}, or None")
    return views["a"].reader.empty(a, shape, dtype or _arrays.NAMES[_product.result_type(views["a"])], stream)


def _open() -> Any:
    global _gemm
    _gemm = _c.library().gemm
    return _gemm
