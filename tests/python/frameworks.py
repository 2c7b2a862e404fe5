"""Modules with what hotgemm uses of PyTorch and CuPy, over memory of the stand-in driver: neither needs a GPU then."""

import contextlib
import types

import numpy as np

from device import empty


class Tensor:
    """As a tensor of PyTorch: methods where that has methods, strides in elements."""

    def __init__(self, array, on=0, requires_grad=False):
        self.array, self.on, self.requires_grad = array, on, requires_grad
        self.negative, self.version = False, 0

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return getattr(torch, self.array.type_name, self.array.type_name)

    @property
    def device(self):
        return f"cuda:{self.on}"

    def stride(self):
        return tuple(stride // self.array.host.itemsize for stride in self.array.host.strides)

    def get_device(self):
        return self.on

    def is_neg(self):
        return self.negative

    def data_ptr(self):
        return self.array.address

    def t(self):
        return Tensor(self.array.T, self.on, self.requires_grad)


class Parameter(Tensor):
    pass


torch = types.ModuleType("torch")
for _name in ("float16", "bfloat16", "float32", "int8", "int32", "int64"):
    setattr(torch, _name, type("dtype", (), {"name": _name, "__str__": lambda self: f"torch.{self.name}"})())
torch.Tensor, torch.grad = Tensor, True


def _empty(shape, dtype, device):
    torch.allocated.append(torch.stream)
    return Tensor(empty(shape, dtype.name), int(device[len("cuda:"):]))


torch.empty = _empty
torch.is_grad_enabled = lambda: torch.grad
torch.stream, torch.current, torch.devices, torch.switched = 0, 0, 1, []
torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: torch.stream)
torch.allocated = []  # the streams under which tensors were


def _increment_version(tensors):
    for tensor in tensors:
        tensor.version += 1


torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=_increment_version))


@contextlib.contextmanager
def _on_device(index):
    before, torch.current = torch.current, index
    torch.switched.append(index)
    yield
    torch.current = before


@contextlib.contextmanager
def _on_stream(handle):
    before, torch.stream = torch.stream, handle
    yield
    torch.stream = before


def _external_stream(handle, device):
    assert handle, "PyTorch makes a new stream then"
    return handle


torch.cuda = types.SimpleNamespace(device_count=lambda: torch.devices, current_device=lambda: torch.current,
                                   device=_on_device, stream=_on_stream, ExternalStream=_external_stream,
                                   default_stream=lambda device: 0)


class ndarray:
    """As an array of CuPy: strides in bytes, types of NumPy."""

    def __init__(self, array):
        self.array = array
        self.device = contextlib.nullcontext()
        self.data = types.SimpleNamespace(ptr=array.address, device_id=0)

    shape = property(lambda self: self.array.shape)
    strides = property(lambda self: self.array.host.strides)
    dtype = property(lambda self: self.array.host.dtype)


cupy = types.ModuleType("cupy")
cupy.ndarray = ndarray
cupy.empty = lambda shape, dtype: ndarray(empty(shape, np.dtype(dtype).name))
cupy.stream = 0
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=cupy.stream),
                                  runtime=types.SimpleNamespace(getDeviceCount=lambda: 1))
