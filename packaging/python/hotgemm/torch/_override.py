"""enable() and disable(): PyTorch's own matrix products run by hotgemm's kernels."""

from __future__ import annotations

import threading
import warnings

import torch

from .. import _c
from . import _adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WHEN = {"as_fast": _c.CALL["IF_PREPARED"] | _c.CALL["IF_AS_FAST"], "tuned": _c.CALL["IF_PREPARED"] | _c.CALL["IF_TUNED"],
         "prepared": _c.CALL["IF_PREPARED"]}
_ORDERS = {"any": _c.ORDER["ORDER_ANY"], "deterministic": _c.ORDER["ORDER_DETERMINISTIC"],
           "batch_invariant": _c.ORDER["ORDER_BATCH_INVARIANT"]}
_KERNELS = {"mm": "hotgemm_torch_mm", "mm.out": "hotgemm_torch_mm_out", "bmm": "hotgemm_torch_bmm",
            "bmm.out": "hotgemm_torch_bmm_out"}

_lock = threading.RLock()
_active: list[Override] = []  # the last one's settings hold
_registered: dict[str, list[Any]] = {}


class Override:
    """What enable() returns. Leaving it as a context, or close(), takes back this enable() alone."""

    def __init__(self, key: str, addmm: bool, settings: _adapter.Settings) -> None:
        self.key = key
        self.addmm = addmm
        self._settings = settings

    def close(self) -> None:
        """Takes the override back; the settings of the enable() before it hold again, if there is one."""
        with _lock:
            if self in _active:
                _active.remove(self)
            _apply()

    def __enter__(self) -> Override:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def enable(*, when: str = "as_fast", addmm: bool = False, order: str = "any", f32: bool | None = None,
           prepare: bool = True, key: str = "CUDA") -> Override:
    """Lets hotgemm compute torch.mm and torch.bmm, and with them what PyTorch makes of them: matmul, linear without bias,
    einsum, and their backward passes. For the whole process, until disable(); or as a context: ``with enable(): ...``.
    No other thread may compute products meanwhile: PyTorch does not guard the exchange of a kernel against calls.

    A product is served if its class has a kernel that is loaded, and else passed on to PyTorch's kernel. Nothing is
    compiled, loaded or measured within a call.

    when:     "as_fast": only where a record says that the kernel takes at most 1 % longer than cuBLAS's default, since a
              call takes less of the host's time than PyTorch's; "tuned": where the kernel was measured for this class
              and GPU model; "prepared": wherever a kernel is loaded.
    addmm:    also torch.addmm, and so linear with a bias. That override is in Python, and costs some microseconds a call.
    order:    "any"; "deterministic": equal calls give equal bits; "batch_invariant": a row's bits do not depend on m.
    f32:      whether products of f32 are served. None: if torch.backends.cuda.matmul.fp32_precision is not "tf32" now.
    prepare:  whether a thread loads kernels for classes that were passed on and that `when` would serve with them, so that
              later calls find them.
    key:      the dispatch key: "CUDA"; "CPU" is for tests of hotgemm.

    Raises ValueError for other values, ImportError if a library is missing. Warns, and has no effect, in a PyTorch
    without CUDA.
    """
    if when not in _WHEN:
        raise ValueError(f"when={when!r}: there are {', '.join(map(repr, _WHEN))}")
    if order not in _ORDERS:
        raise ValueError(f"order={order!r}: there are {', '.join(map(repr, _ORDERS))}")
    if key not in ("CUDA", "CPU"):
        raise ValueError(f"key={key!r}: there are 'CUDA', 'CPU'")
    if f32 is None:
        f32 = torch.backends.cuda.matmul.fp32_precision != "tf32"  # allow_tf32 raises if this has set it
    flags = _WHEN[when] | (_c.CALL["PREPARE_LATER"] if prepare else 0)
    override = Override(key, addmm, _adapter.Settings(flags, _ORDERS[order], f32))
    if not _adapter.serves(key):
        warnings.warn("hotgemm.torch.enable() has no effect: this PyTorch has no CUDA", stacklevel=2)
        return override
    with _lock:
        _active.append(override)
        try:
            _apply()
        except BaseException:
            _active.remove(override)
            _apply()
            raise
    return override


def disable() -> None:
    """Takes all overrides back: PyTorch's own kernels compute again. No other thread may compute products meanwhile."""
    with _lock:
        _active.clear()
        _apply()


def is_enabled() -> bool:
    """Whether an enable() holds."""
    return bool(_active)


def _apply() -> None:
    """Registers what the active overrides need, and takes back the rest."""
    has_been_active = bool(_registered)
    wanted = {override.key for override in _active}
    wanted_addmm = {override.key for override in _active[-1:] if override.addmm}
    for key in list(_registered):
        part, _, _ = key.partition(" addmm")
        if part not in (wanted_addmm if key.endswith(" addmm") else wanted):
            _registered.pop(key).remove()
    if _active:
        _adapter.library().hotgemm_torch_configure(_active[-1]._settings)
    elif has_been_active:  # the operators are still there, and have the order too
        _adapter.library().hotgemm_torch_configure(_adapter.Settings())
    for key in wanted:
        if key not in _registered:
            _registered[key] = _adapter.Kernels("aten", key, _KERNELS)
    for key in wanted_addmm:
        if key + " addmm" not in _registered:
            _registered[key + " addmm"] = _Addmm(key)


class _Addmm:
    """aten::addmm in Python, because its scalars cannot pass the C shim. Here they become floats, and an operator of
    hotgemm serves the sum or passes it on. Complex scalars, other types, operands with an error, and an out that is to
    be resized or is read too, go to the kernel that was there before."""

    def __init__(self, key: str) -> None:
        from . import _operators
        _operators.register_kernels(key)
        ours, ours_out = torch.ops.hotgemm.addmm.default._op, torch.ops.hotgemm.addmm_out.default._op
        native = torch.library.get_kernel("aten::addmm", key)
        native_out = torch.library.get_kernel("aten::addmm.out", key)

        def addmm(keyset: Any, self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
            if beta.__class__ is not complex and alpha.__class__ is not complex:
                result = ours(self, mat1, mat2, beta, alpha)
                if result is not None:
                    return result
            return native.call_boxed(keyset, self, mat1, mat2, beta=beta, alpha=alpha)

        def addmm_out(keyset: Any, self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any) -> Any:
            is_real = beta.__class__ is not complex and alpha.__class__ is not complex
            if is_real and ours_out(self, mat1, mat2, beta, alpha, out):
                return out
            return native_out.call_boxed(keyset, self, mat1, mat2, beta=beta, alpha=alpha, out=out)

        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is overridden, which is the purpose
            self._library.impl("addmm", addmm, key, with_keyset=True)
            self._library.impl("addmm.out", addmm_out, key, with_keyset=True)

    def remove(self) -> None:
        self._library._destroy()
