"""Arrays of all kinds are read as what they are."""

import gc
import sys

import numpy as np
import pytest

import frameworks
import hotgemm
from device import Array, DLPackArray, array, driver, empty, integers
from hotgemm import _arrays, _call, _matmul

M, N, K = 16, 24, 32


@pytest.fixture
def torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", frameworks.torch)
    _call._calls.by_key.clear()  # a call remembers the number of devices
    for name, value in dict(grad=True, stream=0, current=0, devices=1, switched=[], allocated=[]).items():
        monkeypatch.setattr(frameworks.torch, name, value)
    return frameworks.torch


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", frameworks.cupy)
    monkeypatch.setattr(frameworks.cupy, "stream", 0)
    return frameworks.cupy


@pytest.fixture
def launched(monkeypatch):
    """The streams of the calls that follow."""
    streams = []
    gemm = _matmul._open()

    def call(context, problem, operands, stream, options):
        streams.append(stream)
        return gemm(context, problem, operands, stream, options)

    monkeypatch.setattr(_matmul, "_gemm", call)
    return streams


def arrays(make=lambda array: array, type_name="float16"):
    return (make(integers((M, K), type_name)), make(integers((K, N), type_name, seed=1)), make(empty((M, N), type_name)))


def is_right(a, b, out):
    return np.array_equal(out.values, a.values @ b.values)


# ---- PyTorch ----


@pytest.mark.parametrize("type_name", ["float16", "bfloat16", "float32"])
def test_tensors(torch, type_name):
    a, b, out = arrays(frameworks.Tensor, type_name)
    assert hotgemm.matmul(a, b, out) is out
    assert is_right(a.array, b.array, out.array)
    made = hotgemm.matmul(a, b)
    assert type(made) is frameworks.Tensor and made.array.type_name == type_name
    assert is_right(a.array, b.array, made.array)
    assert hotgemm.matmul(a, b, dtype="float32").array.type_name == "float32"
    again = hotgemm.matmul(b.t(), a.t())
    assert np.array_equal(again.array.values, made.array.values.T)


def test_types_of_results_that_there_are_not(torch, cupy):
    a, b, _ = arrays()
    for dtype in ("float64", "f16", "empty", torch.float32, np.float32, np.dtype("float32")):
        for kind in (frameworks.Tensor, frameworks.ndarray):
            with pytest.raises(hotgemm.InvalidArgument, match="^dtype is .*; expected float16, bfloat16, .*, or None"):
                hotgemm.matmul(kind(a), kind(b), dtype=dtype)


def test_tensors_of_batches_are_allocated(torch):
    a, b = frameworks.Tensor(integers((3, M, K))), frameworks.Tensor(integers((K, N), seed=1))
    assert is_right(a.array, b.array, hotgemm.matmul(a, b).array)


def test_subclasses_of_tensors_are_tensors(torch):
    a, b, out = arrays(frameworks.Tensor)
    weight = frameworks.Parameter(b.array)
    hotgemm.matmul(a, weight, out)
    assert is_right(a.array, b.array, out.array)


def test_gradients_are_not_lost_in_silence(torch):
    a, b, out = arrays(frameworks.Tensor)
    weight = frameworks.Parameter(b.array, requires_grad=True)
    for _ in range(2):
        with pytest.raises(hotgemm.InvalidArgument, match="detach"):
            hotgemm.matmul(a, weight, out)
        torch.grad = False
        hotgemm.matmul(a, weight, out)
        torch.grad = True


def test_tensors_on_the_host_are_refused(torch):
    a, b, out = arrays(frameworks.Tensor)
    b.on = -1
    with pytest.raises(hotgemm.InvalidArgument, match=r"b is a tensor of shape \(32, 24\) that does not lie on a CUDA"):
        hotgemm.matmul(a, b, out)


def test_tensors_on_several_devices_are_refused(torch):
    a, b, out = arrays(frameworks.Tensor)
    b.on = 1
    with pytest.raises(hotgemm.InvalidArgument, match="a on 0|b on 1"):
        hotgemm.matmul(a, b, out)


def test_tensors_of_other_types_are_refused(torch):
    a, b, _ = arrays(frameworks.Tensor)
    out = frameworks.Tensor(Array(np.zeros((M, N), np.int64), "int64", None))
    with pytest.raises(hotgemm.InvalidArgument, match=r"out has elements of type torch.int64, shape \(16, 24\)"):
        hotgemm.matmul(a, b, out)


def test_the_device_of_tensors_is_made_current(torch):
    torch.devices = 2
    a, b, out = arrays(frameworks.Tensor)
    hotgemm.matmul(a, b, out)
    assert torch.switched == []
    torch.current = 1
    hotgemm.matmul(a, b, out)
    assert torch.switched == [0] and torch.current == 1


def test_the_current_stream_of_pytorch(torch, launched):
    a, b, out = arrays(frameworks.Tensor)
    first, second = driver().stream(), driver().stream()
    for torch.stream in (first, second, 0):
        hotgemm.matmul(a, b, out)
    hotgemm.matmul(a, b, out, stream=second)
    assert launched == [first, second, 0, second]


def test_a_result_is_allocated_in_the_order_of_its_stream(torch, launched):
    a, b, _ = arrays(frameworks.Tensor)
    torch.stream, other = driver().stream(), driver().stream()
    for stream in (None, other, 0):
        assert is_right(a.array, b.array, hotgemm.matmul(a, b, stream=stream).array)
    assert torch.allocated == launched == [torch.stream, other, 0]


def test_autograd_gets_to_know_what_was_written(torch):
    a, b, out = arrays(frameworks.Tensor)
    aux = frameworks.Tensor(empty((M, N)))
    hotgemm.matmul(a, b, out)
    assert (a.version, b.version, out.version) == (0, 0, 1)
    hotgemm.matmul(a, b, out, activation="gelu", aux=aux)
    assert (out.version, aux.version) == (2, 1)
    hotgemm.matmul(a, b, out, activation="dgelu", aux=aux)
    assert (out.version, aux.version) == (3, 1)
    plan = hotgemm.plan(a, b, out)
    assert out.version == 3
    plan.launch(a, b, out)
    assert out.version == 4
    with pytest.raises(hotgemm.NotPrepared):
        hotgemm.matmul(a, b, out, compute="f16", only="tuned")
    assert out.version == 4


def test_negative_views_are_refused(torch):
    for name in ("a", "b", "out"):
        tensors = dict(zip(("a", "b", "out"), arrays(frameworks.Tensor)))
        hotgemm.matmul(**tensors)  # so that the call is known
        tensors[name].negative = True
        with pytest.raises(hotgemm.InvalidArgument, match=rf"{name} is a tensor .* pass tensor.resolve_neg\(\)"):
            hotgemm.matmul(**tensors)


# ---- CuPy ----


def test_arrays_of_cupy(cupy, launched):
    a, b, out = arrays(frameworks.ndarray)
    hotgemm.matmul(a, b, out)
    assert is_right(a.array, b.array, out.array)
    cupy.stream = driver().stream()
    made = hotgemm.matmul(a, b)
    assert type(made) is frameworks.ndarray and is_right(a.array, b.array, made.array)
    assert launched == [0, cupy.stream]


# ---- __cuda_array_interface__ ----


def test_streams_of_interfaces(launched):
    a, b, out = arrays()
    stream = driver().stream()
    for a.stream, b.stream, out.stream in ((None, None, None), (1, None, 1), (None, stream, None), (stream, stream, None)):
        hotgemm.matmul(a, b, out)
    assert launched == [0, 0, stream, stream]
    a.stream = 1
    with pytest.raises(hotgemm.InvalidArgument, match=f"a to 0x0, b to {stream:#x}"):
        hotgemm.matmul(a, b, out)
    hotgemm.matmul(a, b, out, stream=stream)
    assert launched[4:] == [stream]


def test_masked_arrays_are_refused():
    class Masked(Array):
        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "mask": self}

    a, b, out = arrays()
    with pytest.raises(hotgemm.InvalidArgument, match="b of shape .* mask"):
        hotgemm.matmul(a, Masked(b.host, b.type_name, b.memory), out)


def test_frameworks_mix(torch, cupy, launched):
    a, b, out = arrays()
    hotgemm.matmul(frameworks.Tensor(a), frameworks.ndarray(b), out)
    assert is_right(a, b, out)
    torch.stream = driver().stream()
    with pytest.raises(hotgemm.InvalidArgument, match="b to 0x0"):
        hotgemm.matmul(frameworks.Tensor(a), frameworks.ndarray(b), out)
    hotgemm.matmul(frameworks.Tensor(a), frameworks.ndarray(b), out, stream=torch.stream)
    assert launched == [0, torch.stream]


# ---- DLPack ----


@pytest.fixture
def dlpack(monkeypatch):
    monkeypatch.setattr(DLPackArray, "asked_streams", [])
    return DLPackArray


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("type_name", ["float16", "bfloat16", "float32", "int8"])
def test_dlpack(dlpack, monkeypatch, versioned, type_name):
    monkeypatch.setattr(dlpack, "versioned", versioned)
    a = integers((M, K), type_name, kind=dlpack)
    b = integers((K, N), type_name, kind=dlpack, seed=1)
    out = empty((M, N), "int32" if type_name == "int8" else type_name, kind=dlpack)
    hotgemm.matmul(a, b, out)
    assert is_right(a, b, out)
    gc.collect()
    assert dlpack.alive == 0  # each was given back
    assert set(dlpack.asked_streams) == {1}  # the legacy default stream, as DLPack names it


def test_dlpack_makes_arrays_ready_on_the_stream_of_the_call(dlpack, launched):
    a, b, out = integers((M, K), kind=dlpack), integers((K, N), kind=dlpack), empty((M, N), kind=dlpack)
    stream = driver().stream()
    hotgemm.matmul(a, b, out, stream=stream)
    assert set(dlpack.asked_streams) == {stream} and launched == [stream]


def test_dlpack_of_views(dlpack):
    a = integers((K, M), kind=dlpack)
    a.host = a.host.T
    b, out = integers((K, N), kind=dlpack), empty((M, N), kind=dlpack)
    hotgemm.matmul(a, b, out)
    assert is_right(a, b, out)


def test_dlpack_refuses_what_is_not_on_the_device(dlpack, monkeypatch):
    a, b, out = integers((M, K), kind=dlpack), integers((K, N), kind=dlpack), empty((M, N), kind=dlpack)
    b.device_type = 1
    with pytest.raises(hotgemm.InvalidArgument, match=r"b of shape \(32, 24\) lies on a device of DLPack's type 1"):
        hotgemm.matmul(a, b, out)
    b.device_type, out.flags = 2, 1
    with pytest.raises(hotgemm.InvalidArgument, match="out of shape .* is read-only"):
        hotgemm.matmul(a, b, out)


def test_dlpack_of_numbers(dlpack):
    a, b, out = arrays()
    hotgemm.matmul(a, b, out, alpha=np.array(4.0))  # on the host
    np.testing.assert_array_equal(out.values, 4 * (a.values @ b.values))
    hotgemm.matmul(a, b, out, alpha=array(2.0, "float32", kind=dlpack), beta=array([3.0], "float32", kind=dlpack))
    np.testing.assert_array_equal(out.values, 14 * (a.values @ b.values))


def test_results_are_not_allocated_for_dlpack(dlpack):
    with pytest.raises(hotgemm.InvalidArgument, match="pass out="):
        hotgemm.matmul(integers((M, K), kind=dlpack), integers((K, N), kind=dlpack))


# ---- streams ----


def test_handles_of_streams():
    class Torch:
        cuda_stream = 64

    class Cupy:
        ptr = 65

    class Core:
        def __cuda_stream__(self):
            return (0, 66)

    class Numba:
        handle = type("handle", (), {"value": 67})

    class NumbaDefault:
        handle = type("handle", (), {"value": None})

    assert [_arrays.handle_of(stream) for stream in (0, 1, 2, 63, Torch(), Cupy(), Core(), Numba(), NumbaDefault())] == \
        [0, 0, 2, 63, 64, 65, 66, 67, 0]
    with pytest.raises(TypeError, match="stream is a builtins.str"):
        _arrays.handle_of("main")


def test_calls_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr(_call, "_MOST_CALLS", 4)
    _call._calls.by_key.clear()
    b = array(np.ones((1, 1)))
    for m in range(1, 12):
        hotgemm.matmul(array(np.ones((m, 1))), b, empty((m, 1)))
        assert len(_call._calls.by_key) <= 4
