"""Products of PyTorch's tensors without further arguments, which libhotgemm_torch.so reads.

It reads a tensor by DLPack's exchange interface, which is faster than to read its attributes in Python, and is called as a
builtin function, which is faster than a call by ctypes. Where PyTorch has no such interface, or the library is missing, there
is no direct product, and Python reads the tensors.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_int32, c_void_p, py_object

from . import _c, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

LEFT_TO_PYTHON = -1  # as in src/torch/matmul.cpp
_DEVICE_TYPES = {"CUDA": 2, "CPU": 1}  # as DLPack numbers them
_MAJOR = 1  # of DLPack
_READ_AT = 5  # words from the beginning of DLPack's table of functions: two of the header, three of other functions

_METH_FASTCALL = 0x80  # of Python's stable interface: the arguments are an array

products: dict[type, Callable[[Any, Any, Any], int]] = {}  # by the type of tensors
wrote: Any = None  # version_counter() of PyTorch
_bound: list[_Direct] = []  # all that the library had the address of: another thread may be within a call
_used = c_void_p()  # the context


class _Direct(ctypes.Structure):
    """As in src/torch/export.hpp."""

    _fields_ = [("context", c_void_p), ("device_type", c_int32), ("reserved", c_int32),
                *((name, c_void_p) for name in ("read", "current_device", "current_stream", "grad_mode_is_enabled", "gemm",
                                                "save_thread", "restore_thread", "int_from_long", "clear_error",
                                                "get_attribute", "call_method", "drop_reference")),
                ("requires_grad", py_object), ("is_neg", py_object), ("false_object", py_object)]


class _MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", c_char_p), ("function", c_void_p), ("flags", c_int32), ("doc", c_char_p)]


def enable(torch: Any, key: str = "CUDA") -> None:
    """Adds the product of tensors and parameters of PyTorch, if there can be one. The CPU's is for tests."""
    global wrote
    try:
        product, wrote = _product(torch, key), version_counter(torch)
    except (AttributeError, ImportError, OSError, ValueError):
        return
    products.update({torch.Tensor: product, torch.nn.Parameter: product})


def version_counter(torch: Any) -> Any:
    """PyTorch's function of a tuple of tensors that were written: autograd then raises if a backward pass needs what
    was there. The public one takes 0.1 µs more."""
    return getattr(torch._C, "_increment_version", None) or torch.autograd.graph.increment_version


def use(context: c_void_p) -> None:
    """Lets direct products be computed in a context: the default one, once there is one."""
    global _used
    _used = context
    for direct in _bound:
        direct.context = context.value


def _product(torch: Any, key: str) -> Callable[[Any, Any, Any], int]:
    """Returns a function of three tensors that enqueues out = a @ b. Its result is a status, or LEFT_TO_PYTHON."""
    adapter, python = ctypes.PyDLL(_library.adapter_path()), ctypes.pythonapi
    grad_mode = ctypes.CDLL(_library.in_torch(torch, "libtorch_cpu.so")).aoti_torch_grad_mode_is_enabled
    functions = (grad_mode, _c.library().gemm, python.PyEval_SaveThread, python.PyEval_RestoreThread, python.PyLong_FromLong,
                 python.PyErr_Clear, python.PyObject_GetAttr, python.PyObject_VectorcallMethod, python.Py_DecRef)
    read = _reading(torch.Tensor.__dlpack_c_exchange_api__)
    direct = _Direct(None, _DEVICE_TYPES[key], 0, read, *_current(torch, key), *map(_address, functions),
                     sys.intern("requires_grad"), sys.intern("is_neg"), False)
    _bound.append(direct)
    direct.context = _used.value
    adapter.hotgemm_torch_bind_direct(ctypes.byref(direct))
    return _builtin(b"matmul", adapter.hotgemm_torch_matmul, direct)


def _builtin(name: bytes, function: Any, keeps: Any) -> Callable[[Any, Any, Any], int]:
    """A builtin function of Python that calls a function of C. It holds its own definition, and what else it is to keep."""
    method = _MethodDef(name, _address(function), _METH_FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = py_object, [c_void_p, py_object, c_void_p]
    return new(ctypes.byref(method), (method, keeps), None)


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
