"""hotgemm.torch on a GPU: the checks of tests/python/torch_test.py on CUDA tensors, and what only a GPU has: streams,
graphs, several devices, TorchInductor, and the time of a call.

    PYTHONPATH=packaging/python LD_LIBRARY_PATH=build/dev python tests/gpu/torch_gpu_test.py [arguments of pytest]
"""

import importlib.util
import os
import pathlib
import sys
import time

if __name__ == "__main__":
    for needed in ("torch", "pytest"):
        if importlib.util.find_spec(needed) is None:
            print(f"skipped: {sys.executable} has no {needed}; configure with -DHOTGEMM_TORCH_PYTHON=<a Python that has>")
            sys.exit(77)

import pytest

torch = pytest.importorskip("torch", reason="this Python has no torch")
if not torch.cuda.is_available():
    if __name__ == "__main__":
        print("skipped: there is no GPU")
        sys.exit(77)
    pytest.skip("there is no GPU", allow_module_level=True)

import hotgemm.torch as ht  # noqa: E402


def integers(*shape, dtype=torch.float16, device="cuda"):
    return torch.randint(-2, 3, shape, device=device).to(dtype)


def enable(**options):
    return ht.enable(**{"when": "prepared", "prepare": False, **options})


def prepare(compute, **options):
    with enable(**options):
        compute()
        ht.prepare()
        ht.report(reset=True)


@pytest.fixture(autouse=True)
def clean():
    ht.report(reset=True)
    yield
    ht.disable()


def test_graph():
    """What is prepared is captured; a class first seen under capture is passed on; replays compute what inputs say."""
    a, b, other = integers(512, 1024), integers(1024, 768), integers(768, 320)
    prepare(lambda: torch.mm(a, b))
    torch.mm(integers(512, 768), other)  # cuBLAS makes its workspace before the capture
    with enable():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            c = torch.mm(a, b)
            d = torch.mm(c, other)
        report = ht.report()
        assert report.served["mm"] == 1 and sum(report.passed_on["mm"].values()) == 1
    for _ in range(3):
        a.copy_(integers(512, 1024))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(c, torch.mm(a, b)) and torch.equal(d, torch.mm(c, other))


def test_streams():
    """The product is on the current stream: it waits for what is ahead there."""
    a, b = integers(2048, 2048), integers(2048, 2048)
    want = torch.mm(a, b)
    prepare(lambda: torch.mm(a, b))
    late = torch.zeros_like(a)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with enable(), torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.copy_(a)
        result = torch.mm(late, b)
    stream.synchronize()
    assert torch.equal(result, want) and ht.report().served["mm"] == 1


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_devices():
    """The operands say the device, whichever is current; and each device has kernels of its own."""
    a, b = integers(256, 512, device="cuda:1"), integers(512, 128, device="cuda:1")
    want = torch.mm(a, b)
    prepare(lambda: torch.mm(a, b))
    with enable():
        assert torch.cuda.current_device() == 0
        assert torch.equal(torch.mm(a, b), want) and torch.cuda.current_device() == 0
        assert ht.report().served["mm"] == 1
        assert torch.equal(torch.mm(a.to("cuda:0"), b.to("cuda:0")).cpu(), want.cpu())
        with pytest.raises(RuntimeError, match="same device"):
            torch.mm(a, b.to("cuda:0"))


def test_inductor():
    pytest.importorskip("triton", reason="TorchInductor needs Triton")
    a, w = integers(256, 512), integers(128, 512)

    def layer(x, w):
        return torch.relu(x @ w.t())

    prepare(lambda: layer(a, w))
    with enable():
        assert torch.equal(torch.compile(layer, fullgraph=True)(a, w), layer(a, w))
        print(ht.report())


def test_training_step():
    """The backward pass runs on a thread of PyTorch's engine, which has no current CUDA context at first."""
    def step():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
        x = torch.randn(384, 512, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x).float().square().mean()
        loss.backward()
        return [parameter.grad for parameter in model.parameters()]

    stock = step()
    prepare(step, addmm=True)
    with enable(addmm=True):
        for ours, theirs in zip(step(), stock):
            torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=1e-4)
        report = ht.report()
        assert report.served["mm"] > 0 and report.served["addmm"] == 2, str(report)


def host_us(compute, calls=2000):
    """Host time of a call, while the GPU is far ahead of nothing: the queue never fills."""
    best = float("inf")
    for _ in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls // 10):
            compute()
        best = min(best, (time.perf_counter() - start) * 1e6 / (calls // 10))
    return best


def test_time_of_a_call():
    """Prints the host's time of an overridden mm beside PyTorch's own; the bound only finds what is broken."""
    a, b = integers(64, 64), integers(64, 64)
    out = torch.empty(64, 64, dtype=a.dtype, device="cuda")
    unserved = integers(64, 64).double()
    rows = (("mm", lambda: torch.mm(a, b)), ("mm.out", lambda: torch.mm(a, b, out=out)),
            ("bmm", lambda: torch.bmm(a[None], b[None])), ("mm of f64, passed on", lambda: torch.mm(unserved, unserved)),
            ("addmm, in Python", lambda: torch.addmm(out[0], a, b)))
    for name, compute in rows:
        options = {"addmm": name.startswith("addmm")}
        prepare(compute, **options)
        stock = host_us(compute)
        with enable(**options):
            ours = host_us(compute)
        print(f"{name}: {stock:.2f} us by PyTorch, {ours:.2f} us with hotgemm")
        assert ours < stock + 25


def test_speed_of_linear():
    """Prints the time of a bf16 layer without bias by PyTorch and by hotgemm, hidden 4096."""
    w = torch.randn(4096, 4096, dtype=torch.bfloat16, device="cuda")
    for m in (1, 16, 512, 4096):
        x = torch.randn(m, 4096, dtype=torch.bfloat16, device="cuda")

        def compute():
            return torch.nn.functional.linear(x, w)

        def gpu_us():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(50):
                compute()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) * 1e3 / 50

        want = compute()
        prepare(compute)
        stock = min(gpu_us() for _ in range(5))
        with enable():
            torch.testing.assert_close(compute(), want, rtol=2e-2, atol=0.5)
            ours = min(gpu_us() for _ in range(5))
            assert ht.report().served["mm"] == 251
        ht.report(reset=True)
        print(f"m {m}: {stock:.1f} us by PyTorch, {ours:.1f} us by hotgemm, not tuned")


if __name__ == "__main__":
    os.environ["HOTGEMM_TEST_DEVICE"] = "cuda"
    here = pathlib.Path(__file__).resolve()
    sys.exit(pytest.main([str(here), str(here.parents[1] / "python/torch_test.py"), "-q", "-rP", "--noconftest",
                          "-p", "no:cacheprovider", *sys.argv[1:]]))
