"""libhotgemm_torch.so, bound to the PyTorch of this process.

The library has neither PyTorch nor libhotgemm linked. It lists the functions that it calls; here they are looked up in the
libraries that the process has loaded. So one binary serves every PyTorch from 2.10 on.
"""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_uint32, c_uint64, c_void_p

import torch

from .. import _c, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OLDEST_TORCH = (2, 10)
_SHIM_VERSION = 2 << 56 | 10 << 48  # as in src/torch/shim.hpp
_NAME = "libhotgemm_torch.so"
_KEYS = {"CUDA": ("cuda", "libtorch_cuda.so"), "CPU": ("cpu", "libtorch_cpu.so")}


class Settings(Structure):
    _fields_ = [("flags", c_uint32), ("order", c_int32), ("serves_f32", c_int32)]


class SeenProblem(Structure):
    _fields_ = [("problem", POINTER(_c.Problem)), ("operands", POINTER(_c.Operands)), ("failure", c_char_p),
                ("device", c_int32), ("reserved", c_int32), ("served", c_uint64), ("declined", c_uint64),
                ("failed", c_uint64)]


Visit = ctypes.CFUNCTYPE(None, c_void_p, POINTER(SeenProblem))

_lock = threading.RLock()
_opened: Any = None
_shim: Any = None
_bound: set[str] = set()


def serves(key: str) -> bool:
    """Whether this PyTorch has kernels of the dispatch key that can be replaced."""
    return key == "CPU" or (key == "CUDA" and torch.version.cuda is not None and os.path.exists(_torch_library(key)))


def library() -> Any:
    """The functions of libhotgemm_torch.so. The first call opens it, and hands it those of PyTorch and of hotgemm."""
    global _opened, _shim
    with _lock:
        if _opened is None:
            _check_version()
            shim = ctypes.CDLL(_torch_library("CPU"))
            opened = _declared(_open())
            opened.hotgemm_torch_bind(_addresses(opened.hotgemm_torch_functions(), [shim]))
            _opened, _shim = opened, shim
        return _opened


def bind(key: str) -> None:
    """Hands the library the kernels of a dispatch key that it passes on to."""
    with _lock:
        opened = library()
        if key in _bound:
            return
        backend, _ = _KEYS[key]
        names = opened.hotgemm_torch_backend_functions().replace(b"{}", backend.encode())
        if key == "CPU":  # it has no device to change
            names = names.replace(b"?aoti_torch_get_current_device_index", b"?")
        opened.hotgemm_torch_bind_backend(key == "CUDA", _addresses(names, [ctypes.CDLL(_torch_library(key))]))
        _bound.add(key)


class Kernels:
    """Kernels of libhotgemm_torch.so at a dispatch key of PyTorch. `remove` takes them back."""

    def __init__(self, namespace: str, key: str, kernels: dict[str, str]) -> None:
        bind(key)
        self._handle = c_void_p()
        _check(_shim.aoti_torch_library_init_impl(namespace.encode(), key.encode(), b"hotgemm", c_uint32(0),
                                                  ctypes.byref(self._handle)), f"opening {namespace} at {key}")
        for operator, function in kernels.items():
            address = ctypes.cast(getattr(library(), function), c_void_p)
            _check(_shim.torch_library_impl(self._handle, operator.encode(), address, c_uint64(_SHIM_VERSION)),
                   f"registering a kernel for {namespace}::{operator}")

    def remove(self) -> None:
        handle, self._handle = self._handle, c_void_p()
        if handle:
            _check(_shim.aoti_torch_delete_library_object(handle), "taking kernels back")


def _check_version() -> None:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        raise ImportError(f"hotgemm.torch needs PyTorch {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} or later; this is "
                          f"{torch.__version__}")


def _torch_library(key: str) -> str:
    return _library.in_torch(torch, _KEYS[key][1])


def _open() -> ctypes.CDLL:
    path = _library.adapter_path()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{_NAME} cannot be loaded: {error}. A wheel of hotgemm has it; a build of a checkout has it "
                          "beside libhotgemm.so, found by LD_LIBRARY_PATH") from error


def _declared(opened: ctypes.CDLL) -> ctypes.CDLL:
    for name, result, arguments in (("functions", c_char_p, []), ("backend_functions", c_char_p, []),
                                    ("bind", None, [c_void_p]), ("bind_backend", None, [c_int, c_void_p]),
                                    ("configure", None, [POINTER(Settings)]), ("operators", c_char_p, []),
                                    ("outcomes", c_char_p, []), ("counts", None, [POINTER(c_uint64), c_int]),
                                    ("visit", None, [Visit, c_void_p, c_int])):
        function = getattr(opened, "hotgemm_torch_" + name)
        function.restype, function.argtypes = result, arguments
    return opened


def _addresses(names: bytes, libraries: list[ctypes.CDLL]) -> Any:
    addresses = [_address(name.decode(), libraries) for name in names.splitlines()]
    return (c_void_p * len(addresses))(*addresses)


def _address(name: str, libraries: list[ctypes.CDLL]) -> int | None:
    may_be_missing, name = name.startswith("?"), name.lstrip("?")
    if name.startswith("hotgemm_"):
        return ctypes.cast(getattr(_c.library(), name.removeprefix("hotgemm_")), c_void_p).value
    for opened in libraries:
        if name and hasattr(opened, name):
            return ctypes.cast(getattr(opened, name), c_void_p).value
    if may_be_missing:
        return None
    raise ImportError(f"PyTorch {torch.__version__} has no function {name}, which hotgemm.torch calls")


def _check(result: int, what: str) -> None:
    if result != 0:
        raise RuntimeError(f"{what} failed in PyTorch, which has printed the reason")
