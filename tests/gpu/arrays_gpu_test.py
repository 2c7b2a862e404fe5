"""Arrays of CuPy and JAX on a GPU: products of whole numbers, compared bit by bit with those of the framework.

    PYTHONPATH=packaging/python LD_LIBRARY_PATH=build/dev python tests/gpu/arrays_gpu_test.py [arguments of pytest]

A framework that this Python lacks is skipped.
"""

import os
import sys

import pytest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory otherwise
cupy = pytest.importorskip("cupy", reason="this Python has no CuPy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    if __name__ == "__main__":
        print(f"skipped: {error}")
        sys.exit(77)
    pytest.skip(str(error), allow_module_level=True)

import hotgemm  # noqa: E402

M, N, K = 192, 320, 256


def integers(*shape, type_name="float16"):
    return cupy.random.randint(-3, 4, shape).astype(type_name)


def exact(a, b):
    return cupy.matmul(a.astype("float64"), b.astype("float64"))


def require_equal(result, expected):
    cupy.testing.assert_array_equal(result.astype("float64"), expected)


# ---- CuPy ----


@pytest.mark.parametrize("type_name, result", [("float16", "float16"), ("float32", "float32"), ("int8", "int32")])
def test_results_are_allocated_by_cupy(type_name, result):
    a, b = integers(M, K, type_name=type_name), integers(K, N, type_name=type_name)
    c = hotgemm.matmul(a, b)
    assert isinstance(c, cupy.ndarray) and c.dtype == result
    require_equal(c, exact(a, b))


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_views(layout):
    wide_a = integers(M, K + 24) if layout[0] == "n" else integers(K, M + 24)
    wide_b = integers(K, N + 24) if layout[1] == "n" else integers(N, K + 24)
    a = wide_a[:, :K] if layout[0] == "n" else wide_a[:, :M].T
    b = wide_b[:, :N] if layout[1] == "n" else wide_b[:, :K].T
    out = cupy.full((M, N + 8), 7, "float32")
    part = out[:, :N]
    assert hotgemm.matmul(a, b, out=part) is part
    require_equal(out[:, :N], exact(a, b))
    require_equal(out[:, N:], cupy.full((M, 8), 7.0))


def test_batches_and_epilogues():
    a, b, bias = integers(5, M, K), integers(5, K, N), integers(N)
    require_equal(hotgemm.matmul(a, b), exact(a, b))
    require_equal(hotgemm.matmul(a[0], b[0], bias=bias, activation="relu"),
                  cupy.maximum(exact(a[0], b[0]) + bias.astype("float64"), 0))


def test_the_current_stream():
    """The product waits for the work before it on its stream, and for no other."""
    a, b = cupy.zeros((M, K), "float16"), integers(K, N)
    slow = cupy.zeros((8192, 8192), "float32")
    slow @ slow
    a += 0  # CuPy compiles, which would take as long as the slow work
    c = hotgemm.matmul(a, b)  # loads the kernel
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(20):
            slow = slow @ slow
        a += 1
        hotgemm.matmul(a, b, out=c)
        assert not stream.done
        stream.synchronize()
    require_equal(c, exact(cupy.ones((M, K)), b))


def test_a_graph():
    a, b = integers(M, K), integers(K, N)
    c = cupy.empty((M, N), "float16")
    plan = hotgemm.plan(a, b, c)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        plan.launch(a, b, c)
        graph = stream.end_capture()
    for turn in range(3):
        a += 1
        cupy.cuda.Device().synchronize()
        graph.launch(stream)
        stream.synchronize()
        require_equal(c, exact(a, b))


# ---- JAX ----


@pytest.fixture
def jax():
    module = pytest.importorskip("jax", reason="this Python has no JAX")
    if not any(device.platform == "gpu" for device in module.devices()):
        pytest.skip("this JAX sees no GPU")
    return module


def from_jax(array):
    return cupy.from_dlpack(array)


@pytest.mark.parametrize("type_name", ["float16", "bfloat16", "float32", "int8"])
def test_arrays_of_jax(jax, type_name):
    """The element types that both have. JAX's arrays are read; the result is one of CuPy."""
    numpy = jax.numpy
    keys = jax.random.split(jax.random.key(1))
    a = jax.random.randint(keys[0], (M, K), -3, 4).astype(type_name)
    b = jax.random.randint(keys[1], (K, N), -3, 4).astype(type_name)
    out = cupy.empty((M, N), "int32" if type_name == "int8" else "float32")
    hotgemm.matmul(a, b, out=out)
    require_equal(out, exact(from_jax(a.astype("float32")), from_jax(b.astype("float32"))))
    hotgemm.matmul(a, b, out=out)
    require_equal(out, from_jax(numpy.matmul(a.astype("float32"), b.astype("float32"))).astype("float64"))


def test_the_result_for_jax(jax):
    """A result of CuPy becomes an array of JAX without a copy."""
    a, b = integers(M, K), integers(K, N)
    c = hotgemm.matmul(a, b)
    cupy.cuda.Device().synchronize()
    back = jax.dlpack.from_dlpack(c)
    assert back.unsafe_buffer_pointer() == c.data.ptr
    require_equal(from_jax(back), exact(a, b))


def test_products_wait_for_jax(jax):
    """JAX computes later than its calls return; the product reads what they will have computed."""
    make = jax.jit(lambda x: jax.lax.fori_loop(0, 30, lambda _, y: y @ x, x))
    ones = jax.numpy.eye(4096, dtype="float16")
    b = integers(4096, N)
    out = cupy.empty((4096, N), "float16")
    hotgemm.matmul(make(ones), b, out=out)  # compiles, and loads the kernel
    for factor in (1, 2):
        out[:] = 0
        cupy.cuda.Device().synchronize()
        hotgemm.matmul(make(ones) * jax.numpy.float16(factor), b, out=out)
        require_equal(out, factor * b.astype("float64"))


def test_a_result_is_not_allocated_for_jax(jax):
    a = jax.numpy.ones((M, K), "float16")
    with pytest.raises(hotgemm.InvalidArgument, match="pass out="):
        hotgemm.matmul(a, a.T)


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", __file__, *sys.argv[1:]]))
