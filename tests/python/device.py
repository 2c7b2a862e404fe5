"""Arrays on the device that NumPy can read and write: memory of the stand-in driver, or managed memory of a GPU."""

import ctypes
import os
import struct

import numpy as np

_TYPESTRS = {"bfloat16": "<V2", "float8_e4m3fn": "|V1"}  # NumPy has no such elements: they are whole numbers here
_HOST = {"bfloat16": np.dtype(np.uint16), "float8_e4m3fn": np.dtype(np.uint8)}


class Driver:
    """The driver, with the primary context of its first device."""

    def __init__(self, path):
        self._look_up = ctypes.CDLL(path).cuGetProcAddress_v2
        self._functions = {}
        self("cuInit", 0)
        self.context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)

    def function(self, name):
        """None if the driver has none of this name."""
        if name not in self._functions:
            address = ctypes.c_void_p()
            status = self._look_up(name.encode(), ctypes.byref(address), 12080, ctypes.c_uint64(0), None)
            found = status == 0 and address.value
            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int)(address.value) if found else None
        return self._functions[name]

    def __call__(self, name, *arguments):
        function = self.function(name)
        assert function is not None, f"the driver has no {name}"
        status = function(*arguments)
        assert status == 0, f"{name}: {status}"

    def make_current(self):
        self("cuCtxSetCurrent", self.context)

    def allocate(self, count):
        address, count = ctypes.c_uint64(), ctypes.c_size_t(max(count, 1))
        if self.function("cuMemAllocManaged") is not None:
            attach_global = 1
            self("cuMemAllocManaged", ctypes.byref(address), count, attach_global)
        else:  # the stand-in driver, whose memory is of the host
            self("cuMemAlloc", ctypes.byref(address), count)
        return address.value

    def free(self, address):
        self("cuMemFree", ctypes.c_uint64(address))

    def stream(self):
        handle = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(handle), 1)
        return handle.value

    def synchronize(self):
        self("cuCtxSynchronize")


_driver = None


def driver():
    global _driver
    if _driver is None:
        path = os.environ.get("HOTGEMM_LIBCUDA")
        assert path, "HOTGEMM_LIBCUDA does not name a driver: run these tests by run.py, as ctest does"
        _driver = Driver(path)
        _driver.make_current()
    return _driver


class Memory:
    """An allocation on the device."""

    def __init__(self, count):
        self.address = driver().allocate(count)
        self.bytes = np.frombuffer((ctypes.c_uint8 * max(count, 1)).from_address(self.address), np.uint8)

    def __del__(self):
        driver().free(self.address)


class Array:
    """An array on the device with __cuda_array_interface__, version 3. `host` is the same memory for NumPy."""

    def __init__(self, host, type_name, memory, stream=None, read_only=False):
        self.host, self.type_name, self.memory, self.stream, self.read_only = host, type_name, memory, stream, read_only

    @property
    def shape(self):
        return self.host.shape

    @property
    def values(self):
        """The elements as floats of 64 bits, once the device has finished."""
        driver().synchronize()
        if self.type_name == "bfloat16":
            return (self.host.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return self.host.astype(np.float64)

    @property
    def address(self):
        return self.host.__array_interface__["data"][0]

    def view(self, host):
        return type(self)(host, self.type_name, self.memory, self.stream, self.read_only)

    @property
    def T(self):
        return self.view(self.host.swapaxes(-1, -2))

    def __getitem__(self, index):
        return self.view(self.host[index])

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.host.shape, "strides": None if self.host.flags.c_contiguous else self.host.strides,
                "typestr": _TYPESTRS.get(self.type_name, self.host.dtype.str), "data": (self.address, self.read_only),
                "version": 3, "stream": self.stream}


def empty(shape, type_name="float16", kind=Array):
    dtype = _HOST.get(type_name) or np.dtype(type_name)
    memory = Memory(int(np.prod(shape)) * dtype.itemsize)
    host = memory.bytes[:int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)
    return kind(host, type_name, memory)


def array(values, type_name="float16", kind=Array):
    """An array with these values, which its type must hold exactly."""
    values = np.asarray(values, np.float64)
    made = empty(values.shape, type_name, kind)
    if type_name == "bfloat16":
        made.host[...] = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        made.host[...] = values.astype(made.host.dtype)
    assert np.array_equal(made.values, values), "the type cannot hold these values"
    return made


def integers(shape, type_name="float16", kind=Array, seed=0, most=3):
    """Whole numbers that are so small that sums of products are exact."""
    return array(np.random.default_rng([seed, *shape]).integers(-most, most + 1, shape), type_name, kind)


class DLPackArray:
    """An array on the device with __dlpack__ alone. `alive` counts the tensors that consumers have not given back."""

    alive = 0
    asked_streams: list = []
    versioned = True
    device_type = 2
    flags = 0

    def __init__(self, host, type_name, memory):
        self.host, self.type_name, self.memory = host, type_name, memory

    shape, values, address, view, T = Array.shape, Array.values, Array.address, None, None

    def __dlpack_device__(self):
        return (self.device_type, 0)

    def __dlpack__(self, *, stream=None, **versions):
        if not self.versioned and versions:
            raise TypeError("this exporter knows no max_version")
        type(self).asked_streams.append(stream)
        return _capsule(self, b"dltensor_versioned" if self.versioned else b"dltensor")


_TYPES = {"float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "int8": (0, 8), "int32": (0, 32),
          "float8_e4m3fn": (10, 8), "int64": (0, 64)}
_exported = {}
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


@_DESTRUCTOR
def _give_back(capsule):
    _exported.pop(_capsule_pointer(capsule, _capsule_name(capsule)))
    DLPackArray.alive -= 1


def _capsule(array, name):
    """A capsule as the header of DLPack lays it out, written by its offsets: the reader under test has its own structs."""
    sizes = array.host.shape
    extents = (ctypes.c_int64 * (2 * len(sizes)))(*sizes, *(stride // array.host.itemsize for stride in array.host.strides))
    code, bits = _TYPES[array.type_name]
    tensor = struct.pack("<QiiiBBHQQQ", array.address - 64, array.device_type, 0, len(sizes), code, bits, 1,
                         ctypes.addressof(extents), ctypes.addressof(extents) + 8 * len(sizes), 64)
    managed = struct.pack("<IIQQQ", 1, 1, 0, 0, array.flags) + tensor if name == b"dltensor_versioned" else \
        tensor + bytes(16)
    block = ctypes.create_string_buffer(managed)
    _exported[ctypes.addressof(block)] = (block, extents)
    DLPackArray.alive += 1
    return _new_capsule(ctypes.addressof(block), name, _give_back)
