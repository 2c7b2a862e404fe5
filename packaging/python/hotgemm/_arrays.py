"""Arrays of other libraries on the device: where they lie, and their shapes, strides and types.

There is a reader for each kind of array: PyTorch and CuPy by their attributes, others by DLPack or by
__cuda_array_interface__. PyTorch and CuPy are never imported: who has an array of theirs has imported them.

`read` is what a repeated call pays for: it returns a layout, which can be a key of a dict, and the address. `view` says
what the layout means. `read_product` reads the three arrays of a plain product at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import sys

from . import _c, _direct
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_TYPE_NAMES = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float8_e4m3fn": "E4M3", "float8_e5m2": "E5M2",
               "int8": "S8", "int32": "S32"}
_TYPES = {name: _c.TYPE[ours] for name, ours in _TYPE_NAMES.items()}
NAMES = {number: name for name, number in _TYPES.items()}


class View:
    """An array without its address. Strides are in elements. `device` is -1 where nobody says.

    `stream` is the handle of the stream that the array belongs to, or a function that tells the framework's current one,
    or None. `unwritable` says why nothing may be written there, or is empty. A view that `requires_gradient` is of PyTorch.
    """

    __slots__ = ("reader", "name", "shape", "strides", "type", "device", "stream", "unwritable", "requires_gradient", "_before")

    def __init__(self, reader: Any, name: str, shape: Any, strides: Any, type_name: str, device: int = -1,
                 stream: Callable[[], int] | int | None = None, unwritable: str = "",
                 requires_gradient: bool = False) -> None:
        self.reader, self.name, self.shape, self.device, self.stream = reader, name, tuple(shape), device, stream
        self.unwritable, self.requires_gradient = unwritable, requires_gradient
        self.strides = packed(self.shape) if strides is None else tuple(strides)
        if type_name not in _TYPES:
            raise InvalidArgument(f"{name} has elements of type {type_name}, shape {self.shape}; hotgemm multiplies "
                                  f"{', '.join(_TYPES)}")
        self.type = _TYPES[type_name]
        self._before: View | None = None

    @property
    def given(self) -> View:
        """The view as the caller passed it, for messages: not transposed."""
        return self._before or self

    def transposed(self) -> View:
        view = View(self.reader, self.name, (*self.shape[:-2], self.shape[-1], self.shape[-2]),
                    (*self.strides[:-2], self.strides[-1], self.strides[-2]), NAMES[self.type], self.device, self.stream,
                    self.unwritable, self.requires_gradient)
        view._before = self.given
        return view

    def __str__(self) -> str:
        return f"{self.name} of shape {self.given.shape}"


def packed(shape: Any) -> tuple[int, ...]:
    """The strides of rows without gaps."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * max(shape[axis], 1)
    return tuple(strides)


def in_elements(name: str, shape: Any, strides: Any, item: int) -> list[int]:
    """Strides of bytes as strides of elements. A size of 1 may have any stride."""
    if len(strides) != len(shape):
        raise InvalidArgument(f"{name} of shape {tuple(shape)} has {len(strides)} strides: {tuple(strides)}")
    if any(stride % item for size, stride in zip(shape, strides) if size > 1):
        raise InvalidArgument(f"{name} of shape {tuple(shape)} and strides {tuple(strides)} bytes: an element has {item}; "
                              f"copy it into a contiguous array")
    return [stride // item for stride in strides]


class Reader:
    """What readers of all kinds do alike."""

    wrote: Any = None  # what to call with a tuple of arrays that were written

    if TYPE_CHECKING:
        def read(self, array: Any, name: str, stream: int | None) -> tuple[Any, int]:
            """The layout and the address of an array that is made ready on `stream`. `name` is for messages."""

    def read_product(self, a: Any, b: Any, out: Any, stream: int | None) -> tuple[Any, int, int, int]:
        """Three arrays of this reader: a key for their layouts, and their addresses."""
        layout_a, at_a = self.read(a, "a", stream)
        layout_b, at_b = self.read(b, "b", stream)
        layout_out, at_out = self.read(out, "out", stream)
        return (layout_a, layout_b, layout_out), at_a, at_b, at_out

    def elsewhere(self, device: int) -> Callable[[], Any] | None:
        """What to call before each product on `device`: a context manager if another device is current."""
        return None


class TorchReader(Reader):
    """Tensors of PyTorch."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._names = {getattr(torch, name): name for name in _TYPES if hasattr(torch, name)}
        # PyTorch's own compiled code asks for streams by this function; the public one makes an object.
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self._stream = raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)
        self.wrote = _direct.version_counter(torch)
        _direct.enable(torch)

    def read(self, tensor: Any, name: str, stream: int | None) -> tuple[Any, int]:
        return ((tensor.shape, tensor.stride(), tensor.dtype, tensor.get_device(), tensor.requires_grad,
                 tensor.is_neg()), tensor.data_ptr())

    def read_product(self, a: Any, b: Any, out: Any, stream: int | None) -> tuple[Any, int, int, int]:
        # As read does it three times. In one tuple it is half a microsecond faster.
        return ((a.shape, a.stride(), a.dtype, a.get_device(), a.requires_grad, a.is_neg(),
                 b.shape, b.stride(), b.dtype, b.get_device(), b.requires_grad, b.is_neg(),
                 out.shape, out.stride(), out.dtype, out.get_device(), out.requires_grad, out.is_neg()),
                a.data_ptr(), b.data_ptr(), out.data_ptr())

    def view(self, layout: Any, name: str) -> View:
        shape, strides, dtype, device, requires_gradient, is_negative = layout
        if device < 0:
            raise InvalidArgument(f"{name} is a tensor of shape {tuple(shape)} that does not lie on a CUDA device")
        if is_negative:
            raise InvalidArgument(f"{name} is a tensor of shape {tuple(shape)} that negates what it views: pass "
                                  "tensor.resolve_neg()")
        return View(self, name, shape, strides, self._names.get(dtype, str(dtype)), device,
                    functools.partial(self._stream, device), requires_gradient=requires_gradient)

    def refuse_gradient(self) -> None:
        """Raises where PyTorch would record a product of a tensor that requires a gradient."""
        if self._torch.is_grad_enabled():
            raise InvalidArgument("a tensor requires a gradient, and hotgemm.matmul has none: pass tensor.detach(), or "
                                  "call it under torch.no_grad()")

    def elsewhere(self, device: int) -> Callable[[], Any] | None:
        cuda = self._torch.cuda
        if cuda.device_count() < 2:
            return None
        return lambda: cuda.device(device) if cuda.current_device() != device else None

    def empty(self, like: Any, shape: Any, type_name: str, stream: int | None) -> Any:
        """A new tensor, whose memory PyTorch hands on in the order of `stream`."""
        on: Any = contextlib.nullcontext()
        if stream is not None:
            cuda, device = self._torch.cuda, like.device  # ExternalStream(0) is a new stream of PyTorch
            on = cuda.stream(cuda.ExternalStream(stream, device) if stream else cuda.default_stream(device))
        with on:
            return self._torch.empty(shape, dtype=getattr(self._torch, type_name), device=like.device)


class CupyReader(Reader):
    """Arrays of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def read(self, array: Any, name: str, stream: int | None) -> tuple[Any, int]:
        data = array.data
        return (array.shape, array.strides, array.dtype, data.device_id), data.ptr

    def view(self, layout: Any, name: str) -> View:
        shape, strides, dtype, device = layout
        return View(self, name, shape, in_elements(name, shape, strides, dtype.itemsize), dtype.name, device, self._stream)

    def _stream(self) -> int:
        return int(self._cupy.cuda.get_current_stream().ptr)

    def elsewhere(self, device: int) -> Callable[[], Any] | None:
        runtime = self._cupy.cuda.runtime
        if runtime.getDeviceCount() < 2:
            return None
        return lambda: self._cupy.cuda.Device(device) if runtime.getDevice() != device else None

    def empty(self, like: Any, shape: Any, type_name: str, stream: int | None) -> Any:
        with like.device:
            return self._cupy.empty(shape, like.dtype if like.dtype.name == type_name else type_name)


class InterfaceReader(Reader):
    """Objects with __cuda_array_interface__, versions 2 and 3."""

    # The element types that a typestr names without doubt. PyTorch exports bfloat16 as two raw bytes.
    _TYPESTRS = {"<f2": "float16", "<f4": "float32", "|i1": "int8", "<i1": "int8", "<i4": "int32", "<V2": "bfloat16",
                 "|V2": "bfloat16"}

    def read(self, array: Any, name: str, stream: int | None) -> tuple[Any, int]:
        interface = array.__cuda_array_interface__
        if interface.get("mask") is not None:
            raise InvalidArgument(f"{name} of shape {interface['shape']} has a mask")
        if interface.get("data") is None or interface.get("version", 3) < 2:
            raise InvalidArgument(f"{name} of shape {interface['shape']} has no data by version 2 or 3 of "
                                  "__cuda_array_interface__")
        pointer, read_only = interface["data"]
        strides = interface.get("strides")
        typestr = interface["typestr"]
        type_name = getattr(getattr(array, "dtype", None), "name", None)
        return ("interface", tuple(interface["shape"]), None if strides is None else tuple(strides), typestr,
                type_name if type_name in _TYPES else self._TYPESTRS.get(typestr, typestr), interface.get("stream"),
                bool(read_only)), pointer or 0

    def view(self, layout: Any, name: str) -> View:
        _, shape, strides, typestr, type_name, stream, read_only = layout
        view = View(self, name, shape, None, type_name, -1, None if stream is None else handle_of(stream),
                    "read-only" if read_only else "")
        if strides is not None:
            view.strides = tuple(in_elements(name, shape, strides, int(typestr[2:])))
        return view

    def empty(self, like: Any, shape: Any, type_name: str, stream: int | None) -> Any:
        raise InvalidArgument(f"pass out=: hotgemm allocates results for PyTorch and CuPy, and a is a "
                              f"{type(like).__module__}.{type(like).__qualname__}; it needs shape {tuple(shape)} and type "
                              f"{type_name}")


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DLVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class DLPackReader(InterfaceReader):
    """Objects with __dlpack__. The producer makes the array ready on `stream`, or on the legacy default stream."""

    DEVICES = (2, 13)  # CUDA, and managed memory of CUDA
    _CODES = {(2, 16): "float16", (4, 16): "bfloat16", (2, 32): "float32", (10, 8): "float8_e4m3fn",
              (12, 8): "float8_e5m2", (0, 8): "int8", (0, 32): "int32"}
    _READ_ONLY, _COPIED = 1, 2  # flags
    _LEGACY_STREAM = 1

    def read(self, array: Any, name: str, stream: int | None) -> tuple[Any, int]:
        kind, device = array.__dlpack_device__()
        if int(kind) not in self.DEVICES:
            raise InvalidArgument(f"{name} of shape {getattr(array, 'shape', '?')} lies on a device of DLPack's type "
                                  f"{int(kind)}, which is none of CUDA")
        stream = stream or self._LEGACY_STREAM
        try:
            capsule = array.__dlpack__(stream=stream, max_version=(1, 1))
        except TypeError:  # an exporter from before version 1
            capsule = array.__dlpack__(stream=stream)
        # The capsule is not consumed: its destructor frees what it holds, when this function ends.
        flags = 0
        if _is_capsule(capsule, b"dltensor_versioned"):
            versioned = _DLVersioned.from_address(_pointer_in(capsule, b"dltensor_versioned"))
            if versioned.major != 1:
                raise InvalidArgument(f"{name} is exported by version {versioned.major} of DLPack; expected 1")
            tensor, flags = versioned.tensor, versioned.flags
        elif _is_capsule(capsule, b"dltensor"):
            tensor = _DLTensor.from_address(_pointer_in(capsule, b"dltensor"))
        else:
            raise TypeError(f"{name}: the __dlpack__ of a {type(array).__module__}.{type(array).__qualname__} returns no "
                            "capsule of a tensor")
        shape = tuple(tensor.shape[:tensor.ndim])
        strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
        number = (tensor.code, tensor.bits)
        layout = ("dlpack", shape, strides,
                  self._CODES.get(number, f"(code {number[0]}, {number[1]} bits)") if tensor.lanes == 1 else "vector",
                  int(device), flags & (self._READ_ONLY | self._COPIED))
        return layout, (tensor.data or 0) + tensor.byte_offset

    def view(self, layout: Any, name: str) -> View:
        _, shape, strides, type_name, device, flags = layout
        if flags & self._COPIED:  # it goes with the capsule
            raise InvalidArgument(f"{name} of shape {shape} is a copy that its producer has made for this call, and would be "
                                  "freed before the kernel runs; copy it yourself, and keep the copy")
        return View(self, name, shape, strides, type_name, device, 0, "read-only" if flags & self._READ_ONLY else "")


_interface_reader = InterfaceReader()
_dlpack_reader = DLPackReader()
readers: dict[type, Any] = {}  # by the type of arrays


def reader_of(array: Any, name: str) -> Any:
    """The reader for arrays of this type, which it notes in `readers`."""
    kind = type(array)
    reader = readers.get(kind)
    if reader is None:
        reader = readers[kind] = _find_reader(array, name)
    return reader


def _find_reader(array: Any, name: str) -> Any:
    for module, array_type, make in (("torch", "Tensor", TorchReader), ("cupy", "ndarray", CupyReader)):
        framework = sys.modules.get(module)
        if framework is not None and isinstance(array, getattr(framework, array_type, ())):
            same = [reader for reader in readers.values() if type(reader) is make]
            return same[0] if same else make(framework)
    # DLPack first: its exporter waits for the stream of the product, which a version 2 of the interface does not.
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _dlpack_reader
    if hasattr(array, "__cuda_array_interface__"):
        return _interface_reader
    raise TypeError(f"{name} is a {type(array).__module__}.{type(array).__qualname__}; expected a tensor of PyTorch, an "
                    f"array of CuPy, or an object with __dlpack__ or __cuda_array_interface__")


def handle_of(stream: Any) -> int:
    """The handle of a stream: a number, or a stream of PyTorch, CuPy, Numba or cuda.core."""
    if hasattr(stream, "__index__"):
        handle = operator.index(stream)
        if not 0 <= handle < 1 << 64:
            raise InvalidArgument(f"stream is {handle}, which is no handle")
        return 0 if handle == 1 else handle  # both are the legacy default stream
    for attribute in ("cuda_stream", "ptr"):
        handle = getattr(stream, attribute, None)
        if isinstance(handle, int):
            return handle
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    handle = getattr(getattr(stream, "handle", None), "value", stream)
    if handle is None or isinstance(handle, int):  # Numba's default stream has no handle
        return handle or 0
    raise TypeError(f"stream is a {type(stream).__module__}.{type(stream).__qualname__}; expected a number, or a stream "
                    f"of PyTorch, CuPy, Numba or cuda.core")
