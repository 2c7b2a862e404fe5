"""Products of PyTorch's tensors without further arguments, which libhotgemm_torch.so reads.

It reads a tensor by DLPack's exchange interface, in a tenth of the time that its attributes take in Python. Where
PyTorch has no such interface, or the library is missing, there is no direct product, and Python reads the tensors.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_void_p, py_object

from . import _c, _context, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_LEFT_TO_PYTHON = -1
_DEVICE_TYPES = {"CUDA": 2, "CPU": 1}  # as DLPack numbers them
_MAJOR = 1  # of DLPack
_READ_AT = 5  # words from the beginning of DLPack's table of functions: two of the header, three of other functions

products: dict[type, Callable[[Any, Any, Any], bool]] = {}  # by the type of tensors


class _Direct(ctypes.Structure):
    """As in src/torch/export.hpp."""

    _fields_ = [("context", c_void_p), ("device_type", c_int32), ("reserved", c_int32), ("read", c_void_p),
                ("current_device", c_void_p), ("current_stream", c_void_p), ("gemm", c_void_p), ("release_gil", c_void_p),
                ("take_gil", c_void_p)]


def enable(torch: Any, key: str = "CUDA") -> None:
    """Adds the product of tensors and parameters of PyTorch, if there can be one. The CPU's is for tests."""
    try:
        product = _product(torch, key)
    except (AttributeError, ImportError, OSError, ValueError):
        return
    products.update({torch.Tensor: product, torch.nn.Parameter: product})


def _product(torch: Any, key: str) -> Callable[[Any, Any, Any], bool]:
    """Returns a function that enqueues out = a @ b. Its result is False for what Python has to look at."""
    # A PyDLL: the exchange interface is called with the GIL.
    multiply = ctypes.PyDLL(_library.adapter_path()).hotgemm_torch_matmul
    multiply.restype, multiply.argtypes = c_int32, [c_void_p, py_object, py_object, py_object]
    direct = _Direct(None, _DEVICE_TYPES[key], 0, _reading(torch.Tensor.__dlpack_c_exchange_api__),
                     *_current(torch, key), *(_address(function) for function in (
                         _c.library().gemm, ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)))
    at = ctypes.byref(direct)
    is_grad_enabled = torch.is_grad_enabled

    def product(a: Any, b: Any, out: Any) -> bool:
        if (a.requires_grad or b.requires_grad or out.requires_grad) and is_grad_enabled():
            return False
        if direct.context is None:
            direct.context = _context.default_handle().value
        try:
            status = multiply(at, a, b, out)
        except Exception:  # of PyTorch: no strides, for instance
            return False
        if status > 0:
            raise _c.failure(status)
        return status != _LEFT_TO_PYTHON

    return product


def _reading(capsule: Any) -> int:
    """The address of DLPack's function that describes a tensor and keeps nothing."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [py_object, c_char_p]
    table = get(capsule, b"dlpack_exchange_api")
    if ctypes.c_uint32.from_address(table).value != _MAJOR:
        raise ImportError("another version of DLPack")
    return (c_void_p * (_READ_AT + 1)).from_address(table)[_READ_AT]


def _current(torch: Any, key: str) -> tuple[int | None, int | None]:
    """PyTorch's functions for the current device and for its current stream."""
    if key == "CPU":
        return None, None
    opened = ctypes.CDLL(_library.in_torch(torch, "libtorch_cuda.so"))
    return _address(opened.aoti_torch_get_current_device_index), _address(opened.aoti_torch_get_current_cuda_stream)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, c_void_p).value
