#!/usr/bin/env python3
"""Microseconds that a warm `hotgemm.matmul(a, b, out)` takes over the C function with the same arguments.

Runs on the stand-in driver, whose time is in both: HOTGEMM_LIBCUDA is its path. The tensors of PyTorch, if it is
installed, are of the CPU; the reader is told that they lie on device 0. libhotgemm_torch.so reads those of a plain call,
and a function of the C library that returns 0 stands for the C function there. With --limit US the exit status is 1 if a
cost is above it.
"""

import argparse
import ctypes
import os
import sys
import tempfile
import time
import timeit

os.environ.update(HOTGEMM_CACHE_DIR=tempfile.mkdtemp(), HOTGEMM_SHIPPED_RECORDS="off", HOTGEMM_TUNE="never")

import device  # noqa: E402
import hotgemm  # noqa: E402
from hotgemm import _arrays, _c, _call, _context, _direct  # noqa: E402

ROUNDS, CALLS = 15, 2000


def cost(function):
    """CPU time, the least of many rounds: other work on the machine only adds."""
    return min(timeit.repeat(function, number=CALLS, repeat=ROUNDS, timer=time.thread_time)) / CALLS * 1e6


def bare(a, b, out):
    call = _call.ready(a, b, out, 1.0, 0.0, None, None, None, None, None, None, None, None, None, None, None, 0, None,
                       False, None)
    gemm, handle = _c.library().gemm, _context.default_handle()
    problem, operands, options = call.problem_at, call.operands_at, call.call_at
    return lambda: gemm(handle, problem, operands, 0, options)


def torch_tensors(arrays):
    import torch

    class Reader(_arrays.TorchReader):
        def view(self, layout, name):
            return super().view((*layout[:3], 0, *layout[4:]), name)

        def elsewhere(self, device):
            return None

    reader = Reader(torch)
    reader._stream = lambda device: 0
    _arrays.readers[torch.Tensor] = reader
    return [torch.from_numpy(array.host) for array in arrays]


def direct_cost():
    """Of tensors that libhotgemm_torch.so reads; None where it cannot."""
    import torch
    functions = _c.library()
    gemm, functions.gemm = functions.gemm, ctypes.CDLL(None).pthread_equal  # of a context and a problem: 0
    _direct.enable(torch, "CPU")
    functions.gemm = gemm
    if not _direct.products:
        return None
    a, b, out = (torch.zeros(64, 64, dtype=torch.float16) for _ in range(3))
    assert _direct.products[torch.Tensor](a, b, out) == 0
    return cost(lambda: hotgemm.matmul(a, b, out))


class Plain(device.Array):
    """An array whose interface is at hand, as that of an extension type is."""

    @property
    def __cuda_array_interface__(self):
        if "interface" not in self.__dict__:
            self.interface = super().__cuda_array_interface__
        return self.interface


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float)
    limit = parser.parse_args().limit
    # No rows: the library checks everything, and launches nothing, so that the stand-in's time does not blur the rest.
    a, b, out = (device.empty(shape, kind=Plain) for shape in ((0, 64), (64, 64), (0, 64)))
    kinds = {"__cuda_array_interface__": (a, b, out)}
    try:
        kinds["torch.Tensor"] = torch_tensors((a, b, out))
    except ImportError:
        pass
    worst = 0.0
    for name, arrays in kinds.items():
        hotgemm.matmul(*arrays)
        c, python = cost(bare(*arrays)), cost(lambda: hotgemm.matmul(*arrays))
        plan = hotgemm.plan(*arrays)
        launch = cost(lambda: plan.launch(*arrays))
        print(f"{name}: matmul {python - c:.2f} us over C (with it {python:.2f}), Plan.launch {launch - c:.2f}")
        worst = max(worst, python - c)
    if "torch.Tensor" in kinds:
        direct = direct_cost()
        print("torch.Tensor, read by the adapter: " + ("not here" if direct is None else f"{direct:.2f} us over C"))
    if limit is not None and worst > limit:
        sys.exit(f"a call costs {worst:.2f} us over C; at most {limit} is allowed")


if __name__ == "__main__":
    main()
