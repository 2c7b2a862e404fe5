#!/usr/bin/env python3
"""Products of CuPy's arrays by hotgemm: a plain one, one with an epilogue, and one on a stream."""

import sys


def skip(why):
    print(f"cupy_matmul: skipped: {why}", file=sys.stderr)
    sys.exit(3)


try:
    import cupy
    cupy.cuda.runtime.getDeviceCount()
except ImportError:
    skip("CuPy is not installed")
except cupy.cuda.runtime.CUDARuntimeError as error:
    skip(error)

import hotgemm


def check(what, result, expected):
    cupy.testing.assert_allclose(result, expected, rtol=2e-2, atol=2e-2 * float(abs(expected).max()))
    print(f"{what}: {result.shape} as CuPy has it")


def main():
    random = cupy.random.default_rng(1)
    a = random.standard_normal((512, 1024), dtype=cupy.float32).astype(cupy.float16)
    b = random.standard_normal((1024, 2048), dtype=cupy.float32).astype(cupy.float16)
    bias = random.standard_normal(2048, dtype=cupy.float32).astype(cupy.float16)

    check("product", hotgemm.matmul(a, b), a @ b)
    check("bias and ReLU", hotgemm.matmul(a, b, bias=bias, activation="relu"), cupy.maximum(a @ b + bias, 0))

    out = cupy.zeros((1024, 1024), cupy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        hotgemm.matmul(a.T, a, out=out)  # a transposed view is not copied; the sum is stored as f32
        stream.synchronize()
    check("on a stream", out, a.T.astype(cupy.float32) @ a.astype(cupy.float32))


if __name__ == "__main__":
    main()
