#!/usr/bin/env python3
"""Microseconds of the host for a warm product of two matrices of PyTorch in Python, on a GPU.

Calls are timed in batches that fit the launch queue, each kind in turn; the wait for the GPU is outside of the timed part. The
kinds: hotgemm.matmul with the tensors read by libhotgemm_torch.so, the same read in Python, Plan.launch, and torch.mm. What a
bare launch costs says hotgemm_benchmarks (raw_launch), beside which this is to be read.
"""

import argparse
import statistics
import time

import torch

import hotgemm
from hotgemm import _direct

BATCH, ROUNDS = 256, 60


def microseconds(call):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(BATCH):
        call()
    taken = time.perf_counter() - start
    torch.cuda.synchronize()
    return taken / BATCH * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="m, n and k")
    size = parser.parse_args().size
    a, b, out = (torch.ones(size, size, dtype=torch.float16, device="cuda") for _ in range(3))
    hotgemm.matmul(a, b, out)
    plan = hotgemm.plan(a, b, out)
    direct = dict(_direct.products)

    def by_python():
        hotgemm.matmul(a, b, out, alpha=1)  # not the default's object: the tensors are read in Python

    kinds = {"hotgemm.matmul(a, b, out)" + ("" if direct else ", read in Python"): lambda: hotgemm.matmul(a, b, out),
             "the same, read in Python": by_python, "Plan.launch(a, b, out)": lambda: plan.launch(a, b, out),
             "torch.mm(a, b, out=out)": lambda: torch.mm(a, b, out=out)}
    times = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, call in kinds.items():
            times[name].append(microseconds(call))
    assert torch.equal(hotgemm.matmul(a, b, out), torch.full_like(out, size))
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {size}x{size}x{size} f16")
    for name, values in times.items():
        print(f"{statistics.median(values):7.2f} us  {name}")


if __name__ == "__main__":
    main()
