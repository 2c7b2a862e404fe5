"""Two ranks of NCCL, each on a GPU of its own: products of prepared classes while a collective waits for the other rank.

    PYTHONPATH=packaging/python LD_LIBRARY_PATH=build/dev python tests/gpu/nccl_test.py

A rank that waits for a collective must be able to compute, or the two ranks wait for each other. Needs two GPUs. With
HOTGEMM_TEST_DEVICE=cpu the ranks use gloo and the stand-in driver, which shows that the test itself is right.
"""

import datetime
import importlib.util
import os
import socket
import subprocess
import sys
import time

DEVICE = os.environ.get("HOTGEMM_TEST_DEVICE", "cuda")
RANKS = 2
LIMIT = datetime.timedelta(seconds=30)
SHAPES = [(512, 1024, 768), (33, 2048, 512), (2048, 2048, 1024), (1, 4096, 512)]
ROUNDS = 50 if DEVICE == "cuda" else 3


def integers(torch, *shape, dtype, device):
    return torch.randint(-2, 3, shape).to(device, dtype)


def main(rank, port):
    import torch
    import torch.distributed as dist

    import hotgemm
    import hotgemm.torch as ht

    device = f"cuda:{rank}" if DEVICE == "cuda" else "cpu"
    if DEVICE == "cuda":
        torch.cuda.set_device(rank)
    synchronize = torch.cuda.current_stream().synchronize if DEVICE == "cuda" else lambda: None
    store = dist.TCPStore("127.0.0.1", port, RANKS, rank == 0, timeout=LIMIT)
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo", store=dist.PrefixStore("group", store), rank=rank,
                            world_size=RANKS, timeout=LIMIT)
    pairs = [(integers(torch, m, k, dtype=dtype, device=device), integers(torch, k, n, dtype=dtype, device=device))
             for m, n, k in SHAPES for dtype in (torch.float16, torch.bfloat16)]
    wanted = [torch.mm(a, b) for a, b in pairs]
    buffer = torch.ones(1 << 20, device=device)
    dist.all_reduce(buffer)

    def enabled():
        return ht.enable(key=DEVICE.upper(), when="prepared", prepare=False)

    with enabled():
        for a, b in pairs:
            torch.mm(a, b)
        ht.prepare()
        results = [torch.mm(a, b) for a, b in pairs]  # the allocator has their memory from now on
        ht.report(reset=True)
        for turn in range(ROUNDS):
            late = turn % RANKS == rank
            if late:
                store.wait([f"computed {turn}"], LIMIT)
            buffer.fill_(rank + 1)
            collective = dist.all_reduce(buffer, async_op=True)
            results = [torch.mm(a, b) for a, b in pairs]
            synchronize()
            if not late:
                store.set(f"computed {turn}", "1")
            collective.wait()
            assert bool((buffer == 3).all()), f"turn {turn}: the collective's result is wrong"
            assert all(torch.equal(d, want) for d, want in zip(results, wanted)), f"turn {turn}: a product is wrong"
        for _ in range(20 * ROUNDS):  # both at full tilt
            collective = dist.all_reduce(buffer, async_op=True)
            results = [torch.mm(a, b) for a, b in pairs]
            collective.wait()
        assert all(torch.equal(d, want) for d, want in zip(results, wanted)), "a product beside collectives is wrong"
        report = ht.report()
        assert report.served["mm"] == 21 * ROUNDS * len(pairs), str(report)

    # A class that is not prepared is loaded, and a load waits for the collective. The other rank joins by itself.
    a, b = integers(torch, 640, 384, dtype=torch.float16, device=device), integers(torch, 384, 320, dtype=torch.float16, device=device)
    want = torch.mm(a, b)
    for cold in range(RANKS):
        if rank != cold:
            time.sleep(1)
        start = time.monotonic()
        collective = dist.all_reduce(buffer, async_op=True)
        if rank == cold and DEVICE == "cuda":
            assert torch.equal(hotgemm.matmul(a, b), want)
            print(f"rank {rank}: a cold call beside a collective that waits 1 s took {time.monotonic() - start:.2f} s")
        collective.wait()
        synchronize()
    dist.destroy_process_group()


def skip_reason():
    if importlib.util.find_spec("torch") is None:
        return f"{sys.executable} has no torch; configure with -DHOTGEMM_TORCH_PYTHON=<a Python that has>"
    import torch
    if DEVICE == "cuda" and torch.cuda.device_count() < RANKS:
        return f"there are {torch.cuda.device_count()} GPUs, not {RANKS}"
    return None


def start_ranks():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank), str(port)]) for rank in range(RANKS)]
    try:
        return max(rank.wait(timeout=300) for rank in ranks)
    finally:
        for rank in ranks:
            rank.kill()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]), int(sys.argv[2]))
    else:
        reason = skip_reason()
        if reason:
            print(f"skipped: {reason}")
        sys.exit(77 if reason else start_ranks())
