"""hotgemm.torch on CPU tensors: the stand-in driver computes, whose kernels reach all of the host's memory (host=1).

Run by ctest as python.torch, with a Python that has torch and pytest: that of CMake, or HOTGEMM_TORCH_PYTHON. With
HOTGEMM_TEST_DEVICE=cuda the same checks run on a GPU: tests/gpu/torch_gpu_test.py does it.
"""

import contextlib
import ctypes
import importlib.metadata
import importlib.util
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import threading

if __name__ == "__main__":
    for needed in ("torch", "pytest"):
        if importlib.util.find_spec(needed) is None:
            print(f"skipped: {sys.executable} has no {needed}; configure with -DHOTGEMM_TORCH_PYTHON=<a Python that has>")
            sys.exit(77)

import pytest

torch = pytest.importorskip("torch", reason="this Python has no torch")
DEVICE = os.environ.get("HOTGEMM_TEST_DEVICE", "cpu")
if DEVICE == "cpu" and "host=1" not in os.environ.get("HOTGEMM_STANDIN_SCRIPT", ""):
    pytest.skip("HOTGEMM_STANDIN_SCRIPT does not let kernels reach CPU tensors; ctest does", allow_module_level=True)

import torch.nn.functional as F  # noqa: E402

import hotgemm  # noqa: E402
import hotgemm.torch as ht  # noqa: E402
from hotgemm.torch import _operators  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
KEY = DEVICE.upper()
HALF = (torch.float16, torch.bfloat16)


def integers(*shape, dtype=torch.float16, seed=0, requires_grad=False):
    """Whole numbers so small that all sums of products are exact."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randint(-2, 3, shape, generator=generator).to(DEVICE, dtype).requires_grad_(requires_grad)


def enable(**options):
    return ht.enable(**{"key": KEY, "when": "prepared", "prepare": False, **options})


def served(op, compute, calls=1, **options):
    """What `compute` returns when hotgemm computes all `calls` of its products of the operator."""
    with enable(**options):
        compute()
        ht.prepare()
        ht.report(reset=True)
        result = compute()
        report = ht.report()
        assert (report.served[op], report.passed_on[op]) == (calls, {}), str(report)
    return result


def passed_on(op, compute, reason, **options):
    """What `compute` returns when PyTorch computes it, for this reason."""
    with enable(**options):
        ht.report(reset=True)
        result = compute()
        report = ht.report()
        assert report.served[op] == 0 and reason in report.passed_on[op], str(report)
    return result


def same_error(compute, **options):
    """Checks that `compute` raises the same type with as without the override, and returns both messages."""
    with pytest.raises(Exception) as stock:
        compute()
    with enable(**options), pytest.raises(Exception) as ours:
        compute()
    assert ours.type is stock.type, f"{ours.type}: {ours.value}; stock: {stock.type}: {stock.value}"
    return str(ours.value), str(stock.value)


@pytest.fixture(autouse=True)
def clean():
    ht.report(reset=True)
    yield
    ht.disable()


@pytest.fixture(scope="session")
def kernels():
    """The operators have the library's kernels for the device."""
    _operators.register_kernels(KEY)


# ---- mm and bmm ----


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_mm_in_all_layouts(dtype, layout):
    a = integers(24, 40, dtype=dtype) if layout[0] == "n" else integers(40, 24, dtype=dtype).t()
    b = integers(40, 16, dtype=dtype) if layout[1] == "n" else integers(16, 40, dtype=dtype).t()
    result = served("mm", lambda: torch.mm(a, b))
    assert torch.equal(result, torch.mm(a, b)) and result.is_contiguous()
    assert f"24 16 40 {layout} {'f16' if dtype is torch.float16 else 'bf16'}" in ht.report().problems[0].text


def test_f32_is_served_only_while_tf32_is_not_allowed():
    a, b = integers(16, 32, dtype=torch.float32), integers(32, 16, dtype=torch.float32)
    assert torch.equal(served("mm", lambda: torch.mm(a, b)), a @ b)
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        assert torch.equal(passed_on("mm", lambda: torch.mm(a, b), "f32 while TF32 is allowed"), a @ b)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.parametrize("settings", [torch.backends, torch.backends.cuda.matmul])
def test_tf32_that_was_allowed_by_fp32_precision(settings):
    """allow_tf32 raises then."""
    a, b = integers(16, 32, dtype=torch.float32), integers(32, 16, dtype=torch.float32)
    torch.backends.cuda.matmul.fp32_precision = "none"  # inherited
    settings.fp32_precision = "tf32"
    try:
        assert torch.equal(passed_on("mm", lambda: torch.mm(a, b), "f32 while TF32 is allowed"), a @ b)
    finally:
        settings.fp32_precision = "none"


def test_views():
    big = integers(64, 64)
    for a, b in [(big[:24, 8:48], big[8:48, :16]),  # rows of a wider matrix
                 (big[3:27, 1:41], big[:40, 1:17]),  # at 2 bytes
                 (big[:1, :40], big[:40, :16]), (big[:24, :40], big[:40, :1]), (big[:24, :1], big[:1, :16]),
                 (big[:, :1].t()[:, :40], big[:40, :16])]:
        assert torch.equal(served("mm", lambda: torch.mm(a, b)), torch.mm(a, b))


@pytest.mark.parametrize("make", [lambda: integers(1, 40).expand(24, 40), lambda: integers(48, 80)[::2, ::2],
                                  lambda: integers(24, 1).expand(24, 40)])
def test_strides_that_no_leading_dimension_describes_are_passed_on(make):
    a, b = make(), integers(40, 16)
    assert torch.equal(passed_on("mm", lambda: torch.mm(a, b), "strides"), torch.mm(a, b))


def test_mm_out():
    a, b = integers(24, 40), integers(40, 16)
    for out in (torch.empty(24, 16, dtype=a.dtype, device=DEVICE), torch.empty(24, 32, dtype=a.dtype, device=DEVICE)[:, 8:24],
                torch.empty(16, 24, dtype=a.dtype, device=DEVICE).t()):
        result = served("mm", lambda: torch.mm(a, b, out=out))
        assert result is out and torch.equal(out, torch.mm(a, b))


def test_an_output_that_must_change_or_is_read_is_passed_on():
    a = integers(16, 16)
    out = torch.empty(0, dtype=a.dtype, device=DEVICE)
    assert passed_on("mm", lambda: torch.mm(a, a, out=out), "the output's form") is out
    assert torch.equal(out, a @ a)
    both = integers(32, 16)
    passed_on("mm", lambda: torch.mm(both[:16], a, out=both[8:24]), "the output's form")
    passed_on("mm", lambda: torch.mm(a, both[:16], out=both[8:24]), "the output's form")


def test_bmm():
    a, b = integers(6, 24, 40), integers(6, 40, 16)
    assert torch.equal(served("bmm", lambda: torch.bmm(a, b)), torch.bmm(a, b))
    shared, heads = integers(1, 24, 40).expand(6, 24, 40), integers(40, 6, 16).transpose(0, 1)
    assert torch.equal(served("bmm", lambda: torch.bmm(shared, heads)), torch.bmm(shared, heads))
    out = torch.empty(24, 6, 16, dtype=a.dtype, device=DEVICE).transpose(0, 1)  # the products side by side
    assert served("bmm", lambda: torch.bmm(a, b, out=out)) is out
    assert torch.equal(out, torch.bmm(a, b))


def test_what_pytorch_makes_of_mm_and_bmm():
    x, w = integers(2, 3, 40), integers(16, 40)
    assert torch.equal(served("mm", lambda: F.linear(x, w)), F.linear(x, w))
    assert torch.equal(served("mm", lambda: x @ w.t()), x @ w.t())
    q = integers(2, 3, 5, 8)
    assert torch.equal(served("bmm", lambda: q @ q.transpose(-1, -2)), q @ q.transpose(-1, -2))
    assert torch.equal(served("bmm", lambda: torch.einsum("bhid,bhjd->bhij", q, q)), q @ q.transpose(-1, -2))


def test_empty_operands():
    for m, n, k in ((0, 4, 4), (4, 0, 4), (4, 4, 0)):
        a, b = integers(m, k), integers(k, n)
        assert torch.equal(passed_on("mm", lambda: torch.mm(a, b), "an empty operand"), torch.mm(a, b))


# PyTorch has no products of integers on a GPU.
OTHER_TYPES = [torch.float64, torch.complex64, *([torch.int64] if DEVICE == "cpu" else [])]


@pytest.mark.parametrize("dtype", OTHER_TYPES)
def test_other_types_are_passed_on(dtype):
    a, b = integers(8, 8, dtype=dtype), integers(8, 8, dtype=dtype, seed=1)
    assert torch.equal(passed_on("mm", lambda: torch.mm(a, b), "element type"), torch.mm(a, b))
    assert torch.equal(passed_on("mm", lambda: torch.mm(a.conj(), b), "element type"), torch.mm(a.conj(), b))


def test_negative_views_are_resolved_before():
    imaginary = torch.complex(integers(8, 8, dtype=torch.float32), integers(8, 8, dtype=torch.float32, seed=1)).conj().imag
    assert imaginary.is_neg()
    assert torch.equal(served("mm", lambda: torch.mm(imaginary, imaginary)), imaginary.clone() @ imaginary.clone())


@pytest.mark.parametrize("a, b", [((2, 3), (4, 5)), ((3,), (3, 2)), ((2, 3), (3,)), ((1, 2, 3), (3, 2))])
def test_wrong_sizes_of_mm(a, b):
    ours, stock = same_error(lambda: torch.mm(integers(*a), integers(*b)))
    assert ours.removeprefix("mm: ").startswith(stock.removeprefix("mm: "))  # earlier versions say less


@pytest.mark.parametrize("a, b", [((1, 2, 3), (1, 4, 5)), ((1, 2, 3), (2, 3, 4)), ((2, 3), (1, 3, 2)), ((1, 2, 3), (3, 2))])
def test_wrong_sizes_of_bmm(a, b):
    ours, stock = same_error(lambda: torch.bmm(integers(*a), integers(*b)))
    assert ours == stock


def test_wrong_types_and_devices():
    a = integers(4, 4)
    served("mm", lambda: torch.mm(a, a))  # so that what is wrong would be computed
    served("bmm", lambda: torch.bmm(a[None].expand(2, 4, 4), a[None].expand(2, 4, 4)))
    same_error(lambda: torch.mm(a, a.float()))
    if DEVICE != "cpu":
        same_error(lambda: torch.mm(a, a.cpu()))
    same_error(lambda: torch.mm(a, a, out=a.float()))
    same_error(lambda: torch.bmm(a[None], a[None].float()))
    same_error(lambda: torch.bmm(a[None], a[None], out=a[None].float()))
    same_error(lambda: torch.mm(a, a, out=torch.empty(1, 4, dtype=a.dtype, device=DEVICE).expand(4, 4)))  # PyTorch's kernel refuses
    same_error(lambda: torch.mm(a, a, out=torch.empty(4, 4, dtype=a.dtype, device=DEVICE, requires_grad=True)))


# ---- autograd and the other layers above ----


def test_gradients_of_mm():
    def gradients():
        a, b = integers(24, 40, requires_grad=True), integers(40, 16, requires_grad=True)
        (a @ b).backward(integers(24, 16, seed=1))
        return a.grad, b.grad

    for ours, stock in zip(served("mm", gradients, calls=3), gradients()):
        assert torch.equal(ours, stock)


def test_modes():
    a, b = integers(24, 40), integers(40, 16)
    want = a @ b
    with torch.inference_mode():
        assert torch.equal(served("mm", lambda: torch.mm(a, b)), want)
    with torch.no_grad():
        assert torch.equal(served("mm", lambda: torch.mm(a, b)), want)
    with torch.autocast(DEVICE, torch.bfloat16):
        result = served("mm", lambda: torch.mm(a.float(), b.float()))
    assert result.dtype is torch.bfloat16 and torch.equal(result.float(), want.float())


def test_vmap():
    a, b = integers(3, 24, 40), integers(3, 40, 16)
    assert torch.equal(served("bmm", lambda: torch.vmap(torch.mm)(a, b)), torch.bmm(a, b))


def test_compile():
    def layer(x, w):
        return torch.relu(x @ w)

    x, w = integers(24, 40), integers(40, 16)
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(layer, backend=backend, fullgraph=True)
        assert torch.equal(served("mm", lambda: compiled(x, w)), layer(x, w))


# ---- enable and disable ----


def test_disable_restores_pytorchs_kernel():
    a = integers(16, 16)
    served("mm", lambda: torch.mm(a, a))
    ht.report(reset=True)
    torch.mm(a, a)
    assert not ht.is_enabled() and ht.report().served["mm"] == 0 and ht.report().passed_on["mm"] == {}
    assert torch.equal(torch.mm(a, a), served("mm", lambda: torch.mm(a, a)))


def test_enable_nests():
    a = integers(16, 16)
    served("mm", lambda: torch.mm(a, a))
    ht.report(reset=True)
    with enable(when="as_fast"):
        with enable():
            torch.mm(a, a)
            assert ht.report().served["mm"] == 1
        torch.mm(a, a)  # no record says that it is as fast
        assert ht.report().served["mm"] == 1 and sum(ht.report().passed_on["mm"].values()) == 1
    torch.mm(a, a)
    assert sum(ht.report().passed_on["mm"].values()) == 1
    enable()
    enable()
    ht.disable()
    assert not ht.is_enabled()


def test_close_in_any_order():
    a = integers(16, 16)
    first, second = enable(), enable(when="as_fast")
    first.close()
    first.close()
    torch.mm(a, a)
    assert ht.is_enabled() and ht.report().passed_on["mm"] != {}
    second.close()
    assert not ht.is_enabled()


@pytest.mark.parametrize("options", [{"when": "always"}, {"order": "some"}, {"key": "XPU"}])
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options.values()))):
        enable(**options)


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has CUDA")
def test_without_cuda_enable_warns():
    with pytest.warns(UserWarning, match="no effect"):
        ht.enable()


def test_a_class_is_prepared_beside_the_calls():
    a, b = integers(40, 56), integers(56, 48)
    want = torch.mm(a, b)
    with enable(prepare=True):
        for _ in range(200):
            assert torch.equal(torch.mm(a, b), want)
            if ht.report().served["mm"]:
                break
            threading.Event().wait(0.1)
        assert ht.report().served["mm"] == 1


def test_deterministic_order_is_a_class_of_its_own():
    a = integers(16, 16)
    served("mm", lambda: torch.mm(a, a), order="deterministic")
    assert any("order=deterministic" in problem.text for problem in ht.report().problems)


def test_options_end_with_the_override(kernels):
    """They hold for the operators too, which are there without it."""
    x, w = integers(24, 40), integers(16, 40)

    def problems():
        ht.report(reset=True)
        torch.ops.hotgemm.linear(x, w)
        return [problem.text for problem in ht.report().problems]

    with enable(order="deterministic"):
        assert problems() == ["24 16 40 nt f16 order=deterministic align=16"]
    assert problems() == ["24 16 40 nt f16 align=16"]
    enable(order="batch_invariant")
    ht.disable()
    assert problems() == ["24 16 40 nt f16 align=16"]


def test_threads():
    a, b = integers(24, 40), integers(40, 16)
    want = a @ b
    served("mm", lambda: torch.mm(a, b))
    ht.report(reset=True)
    wrong = []

    def work():
        for _ in range(200):
            if not torch.equal(torch.mm(a, b), want):
                wrong.append(1)

    with enable():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ht.report().served["mm"] == 800 and not wrong


# ---- report ----


def test_report():
    a = integers(24, 40)
    with enable():
        torch.mm(a, a.t())
        torch.mm(a, a.t())
        torch.mm(a.double(), a.double().t())
        report = ht.report(reset=True)
    assert report.served["mm"] == 0
    assert report.passed_on["mm"] == {"not prepared, or not as fast by record": 2, "element type": 1}
    assert [(problem.declined, problem.calls) for problem in report.problems] == [(2, 2)]
    assert report.to_tune() == ["24 24 40 nt f16 align=16"]
    assert report.shapes() == "24 24 40 nt f16 align=16 count=2\n"
    assert "mm: 0 of 3 calls served" in str(report) and "24 24 40 nt f16" in str(report)
    assert ht.report().problems == [] and "no call" in str(ht.report())


def test_reset_loses_no_call_of_another_thread():
    a, calls, total, in_problems = integers(4, 4), 5000, 0, 0

    def work():
        for _ in range(calls):
            torch.mm(a, a)

    with enable():
        ht.report(reset=True)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        is_last = False
        while not is_last:
            is_last = not any(thread.is_alive() for thread in threads)
            report = ht.report(reset=True)
            total += sum(report.passed_on["mm"].values()) + report.served["mm"]
            in_problems += sum(problem.calls for problem in report.problems)
    assert (total, in_problems) == (2 * calls, 2 * calls)


def test_lines_of_the_report_are_those_of_tune():
    import hotgemm
    a = integers(24, 41)
    with enable():
        torch.mm(a, a.t())
        torch.bmm(a[None].expand(3, -1, -1), a.t()[None].expand(3, -1, -1))
    entries = hotgemm.prewarm(ht.report().to_tune(), archs=["sm_90a"]).entries
    assert len(entries) == 2 and not any(entry.failure for entry in entries)


# ---- addmm ----


@pytest.mark.parametrize("bias", [lambda: integers(16), lambda: integers(1, 16), lambda: integers(24, 16),
                                  lambda: integers(16).expand(24, 16), lambda: integers(24, 32)[:, :16]])
def test_addmm(bias):
    c, a, b = bias(), integers(24, 40), integers(40, 16)
    assert torch.equal(served("addmm", lambda: torch.addmm(c, a, b), addmm=True), torch.addmm(c, a, b))


def test_addmm_scalars():
    c, a, b = integers(24, 16), integers(24, 40), integers(40, 16)
    for scalars in ({"beta": 2, "alpha": 1}, {"beta": -1, "alpha": 2.0}, {"beta": 0, "alpha": 0.5}):
        assert torch.equal(served("addmm", lambda: torch.addmm(c, a, b, **scalars), addmm=True),
                           torch.addmm(c, a, b, **scalars))
    out = torch.empty(24, 16, dtype=a.dtype, device=DEVICE)
    assert served("addmm", lambda: torch.addmm(c, a, b, out=out), addmm=True) is out
    assert torch.equal(out, torch.addmm(c, a, b))
    for addend, scalars in ((integers(16), {"beta": 2}), (integers(24, 1), {}), (integers(1)[0], {})):
        assert torch.equal(passed_on("addmm", lambda: torch.addmm(addend, a, b, **scalars), "a bias, residual or scalar",
                                     addmm=True), torch.addmm(addend, a, b, **scalars))


def test_addmm_of_one_row_takes_a_scaled_bias():
    c, a, b = integers(16), integers(1, 32), integers(32, 16)
    assert torch.equal(served("addmm", lambda: torch.addmm(c, a, b, beta=2), addmm=True), torch.addmm(c, a, b, beta=2))


def test_addmm_whose_addend_is_a_row_of_the_output_is_passed_on():
    a, b, out = integers(24, 32), integers(32, 16), integers(24, 16)
    for addend in (out[0], out[:1].expand(24, 16)):
        with enable(addmm=True):
            ht.report(reset=True)
            torch.addmm(addend, a, b, out=out)
            assert ht.report().passed_on["addmm"] == {"the output's form": 1}


def test_addmm_of_other_types_and_errors():
    c, a = integers(8), integers(8, 8)
    for dtype in OTHER_TYPES:
        operands = c.to(dtype), a.to(dtype), a.to(dtype)
        assert torch.equal(passed_on("addmm", lambda: torch.addmm(*operands), "element type", addmm=True),
                           torch.addmm(*operands))
    served("addmm", lambda: torch.addmm(c, a, a), addmm=True)  # so that what is wrong would be computed
    for compute in (lambda: torch.addmm(c, a, integers(7, 8)), lambda: torch.addmm(integers(3), a, a),
                    lambda: torch.addmm(integers(3, 8), a, a), lambda: torch.addmm(integers(1, 8, 8), a, a),
                    lambda: torch.addmm(c, a, a.float()), lambda: torch.addmm(c, a[0], a),
                    lambda: torch.addmm(c, a, a, alpha=1e300), lambda: torch.addmm(c, a, a, beta=-1e300),
                    lambda: torch.addmm(c, a, a, alpha=1e300, out=a.clone()),
                    lambda: torch.addmm(c, a, a, out=a.float())):
        ours, stock = same_error(compute, addmm=True)
        assert ours == stock
    assert set(ht.report().passed_on["addmm"]) <= {"the output's form"}  # errors are not counted, as those of mm


def test_addmm_with_complex_scalars_is_left_to_pytorch():
    c, a, out = integers(8), integers(8, 8), integers(8, 8)
    for scalars in ({"alpha": 2 + 0j}, {"beta": 2 + 0j}):
        want = torch.addmm(c, a, a, **scalars)
        with enable(addmm=True):
            assert torch.equal(torch.addmm(c, a, a, **scalars), want)
            assert torch.equal(torch.addmm(c, a, a, **scalars, out=out), want)


@pytest.mark.parametrize("m, n, k", [(0, 16, 8), (24, 0, 8), (24, 16, 0)])
def test_addmm_without_elements_is_passed_on(m, n, k):
    c, a, b = integers(n), integers(m, k), integers(k, n)
    want = torch.addmm(c, a, b, beta=2)
    assert torch.equal(passed_on("addmm", lambda: torch.addmm(c, a, b, beta=2), "an empty operand", addmm=True), want)
    out = torch.empty(m, n, dtype=a.dtype, device=DEVICE)
    with enable(addmm=True):
        torch.addmm(c, a, b, beta=2, out=out)
    assert torch.equal(out, want)


def test_linear_layer_with_addmm():
    def gradients():
        torch.manual_seed(0)
        layer = torch.nn.Linear(40, 16, dtype=torch.float16, device=DEVICE)
        with torch.no_grad():
            layer.weight.copy_(integers(16, 40))
            layer.bias.copy_(integers(16))
        x = integers(24, 40, requires_grad=True)
        y = layer(x)
        y.backward(integers(24, 16))
        return y, x.grad, layer.weight.grad, layer.bias.grad

    for ours, stock in zip(served("addmm", gradients, addmm=True), gradients()):
        assert torch.equal(ours, stock)


def test_addmm_undo():
    c, a = integers(16), integers(16, 16)
    served("addmm", lambda: torch.addmm(c, a, a), addmm=True)
    with enable():
        ht.report(reset=True)
        torch.addmm(c, a, a)
        assert ht.report().served["addmm"] == 0 and ht.report().passed_on["addmm"] == {}
    assert torch.equal(torch.addmm(c, a, a), served("addmm", lambda: torch.addmm(c, a, a), addmm=True))


# ---- operators ----


def linear_operands(requires_grad=False):
    return (integers(2, 12, 40, requires_grad=requires_grad), integers(16, 40, requires_grad=requires_grad),
            integers(16, requires_grad=requires_grad), integers(2, 12, 16, seed=1, requires_grad=requires_grad))


def counted_linear(compute, calls=1):
    ht.report(reset=True)
    result = compute()
    report = ht.report()
    assert (report.served["linear"], report.passed_on["linear"]) == (calls, {}), str(report)
    return result


def test_linear(kernels):
    x, w, bias, residual = linear_operands()
    linear = torch.ops.hotgemm.linear
    assert torch.equal(counted_linear(lambda: linear(x, w)), F.linear(x, w))
    assert torch.equal(counted_linear(lambda: linear(x, w, bias)), F.linear(x, w, bias))
    assert torch.equal(counted_linear(lambda: linear(x, w, bias, "relu", residual, 2.0)),
                       torch.relu(2 * F.linear(x, w) + bias) + residual)
    assert torch.equal(counted_linear(lambda: linear(x[0, 0], w)), F.linear(x[0, 0], w))
    assert torch.equal(counted_linear(lambda: linear(x[:, :1, 8:], w[:, 8:])), F.linear(x[:, :1, 8:], w[:, 8:]))


@pytest.mark.parametrize("dimensions", [9, 64, 65, 100, 3000])
def test_linear_of_many_dimensions(kernels, dimensions):
    x, w = integers(24, 40).reshape(4, 6, *[1] * (dimensions - 3), 40), integers(16, 40)
    result = counted_linear(lambda: torch.ops.hotgemm.linear(x, w))
    assert result.shape == (*x.shape[:-1], 16) and torch.equal(result.flatten(0, -2), F.linear(x.flatten(0, -2), w))


@pytest.mark.parametrize("activation", ["gelu", "gelu_erf", "silu", "sigmoid", "tanh"])
def test_activations(kernels, activation):
    x, w = integers(8, 16) / 4, integers(16, 16) / 4
    want = _operators._linear_by_torch(x.float(), w.float(), None, activation)
    result = counted_linear(lambda: ht.linear(x, w, None, activation))
    assert torch.allclose(result.float(), want, rtol=2e-3, atol=2e-3)


def test_linear_with_aux(kernels):
    x, w, bias, residual = linear_operands()
    result, aux = counted_linear(lambda: torch.ops.hotgemm.linear_with_aux(x, w, bias, "relu", residual))
    assert torch.equal(aux, F.linear(x, w, bias)) and torch.equal(result, torch.relu(aux) + residual)


def test_what_linear_leaves_to_pytorch(kernels):
    x, w, bias, residual = linear_operands()
    linear = torch.ops.hotgemm.linear
    for compute, want, reason in (
            (lambda: linear(x.double(), w.double()), F.linear(x.double(), w.double()), "element type"),
            (lambda: linear(x[:, ::2, ::2], w[:, ::2]), F.linear(x[:, ::2, ::2], w[:, ::2]), "strides"),
            (lambda: linear(x[:0], w), F.linear(x[:0], w), "an empty operand"),
            (lambda: linear(x, w, integers(32)[::2]), F.linear(x, w, integers(32)[::2]), "a bias, residual or scalar"),
            (lambda: linear(x, w, bias, "none", residual.transpose(0, 1).contiguous().transpose(0, 1)),
             F.linear(x, w, bias) + residual, "a bias, residual or scalar")):
        ht.report(reset=True)
        assert torch.equal(compute(), want)
        assert ht.report().passed_on["linear"] == {reason: 1}


def test_wrong_operands_of_linear(kernels):
    x, w, bias, residual = linear_operands()
    for arguments, message in (((x, w[:, :8]), "cannot be multiplied"), ((x, w, bias, "rely"), "no activation 'rely'"),
                               ((x, w, bias, "none", residual[0]), "residual has the shape"),
                               ((x, w[0]), "dimensions"), ((x, w, bias[:3]), "bias has the shape"),
                               ((x, w.float()), "x and weight to have the same dtype"),
                               ((x, w, bias.float(), "none", None, 2.0), "x and bias to have the same dtype"),
                               ((x, w, bias, "none", residual.float()), "x and residual to have the same dtype")):
        on_meta = [argument.to("meta") if isinstance(argument, torch.Tensor) else argument for argument in arguments]
        for compute, operands in ((torch.ops.hotgemm.linear, arguments), (_operators._linear_by_torch, arguments),
                                  (torch.ops.hotgemm.linear, on_meta)):  # where the fake kernel answers
            with pytest.raises(RuntimeError, match=message):
                compute(*operands)
        batched = [argument[None] if isinstance(argument, torch.Tensor) else argument for argument in arguments]
        dims = tuple(0 if isinstance(argument, torch.Tensor) else None for argument in arguments)
        with pytest.raises(RuntimeError, match=message):
            torch.vmap(torch.ops.hotgemm.linear, dims)(*batched)


def test_vmap_checks_each_sample(kernels):
    x, weights = integers(4, 8), integers(7, 6, 8)
    for operands, message in (((x, "none", integers(1, 6)), "residual has the shape"),
                              ((x, "none", integers(7, 4, 6)), "residual has the shape"),
                              ((x, "rely"), "no activation 'rely'"), ((x[:, :7],), "cannot be multiplied")):
        with pytest.raises(RuntimeError, match=message):
            torch.vmap(lambda w: torch.ops.hotgemm.linear(operands[0], w, None, *operands[1:]))(weights)
    with pytest.raises(RuntimeError, match="x has 0 dimensions"):
        torch.vmap(lambda x: torch.ops.hotgemm.linear(x, weights[0]))(x[0])


def test_alpha_is_applied_before_the_product_is_rounded(kernels):
    x, w = (torch.full(shape, 100.0, dtype=torch.float16, device=DEVICE) for shape in ((2, 8), (3, 8)))
    bias = integers(3) * 8
    for b, more in ((None, 0), (bias, bias)):
        want = torch.full((2, 3), 8000.0, dtype=torch.float16, device=DEVICE) + more
        assert torch.equal(_operators._linear_by_torch(x, w, b, alpha=0.1), want)
        assert torch.equal(_operators._linear_by_torch(x[0], w, b, alpha=0.1), want[0])
        assert torch.equal(torch.ops.hotgemm.linear(x, w, b, alpha=0.1), want)
        assert torch.equal(torch.vmap(lambda w: torch.ops.hotgemm.linear(x, w, b, alpha=0.1))(w[None])[0], want)


@pytest.mark.parametrize("activation", ["none", "relu"])
@pytest.mark.parametrize("use", [torch.ops.hotgemm.linear, ht.linear])
def test_gradients_of_linear(kernels, activation, use):
    def gradients(compute):
        operands = linear_operands(requires_grad=True)
        y = compute(*operands)
        y.backward(integers(2, 12, 16, seed=2))
        return y, *(operand.grad for operand in operands)

    def stock(x, w, bias, residual):
        y = F.linear(x, w, bias)
        return (torch.relu(y) if activation == "relu" else y) + residual

    ours = gradients(lambda x, w, bias, residual: use(x, w, bias, activation, residual))
    for a, b in zip(ours, gradients(stock)):
        assert torch.equal(a, b)
    assert ht.report().passed_on["linear"] == {}


@pytest.mark.parametrize("m, n, k", [(0, 6, 3), (4, 0, 3), (4, 6, 0)])
def test_gradients_of_linear_without_elements(kernels, m, n, k):
    def gradients(compute):
        operands = [integers(*shape, requires_grad=True) for shape in ((2, m, k), (n, k), (n,))]
        y = compute(*operands)
        y.sum().backward()
        return y, *(operand.grad for operand in operands)

    want = gradients(F.linear)
    for compute in (torch.ops.hotgemm.linear,
                    lambda x, w, b: torch.vmap(torch.ops.hotgemm.linear)(x, w.expand(2, n, k), b.expand(2, n))):
        for ours, stock in zip(gradients(compute), want):
            assert torch.equal(ours, stock)


@pytest.mark.parametrize("activation", _operators.ACTIVATIONS)
def test_gradcheck_of_linear(activation):
    operands = [torch.randn(shape, dtype=torch.float64, device=DEVICE, requires_grad=True) + 0.1
                for shape in ((3, 5), (4, 5), (4,), (3, 4))]
    for use in (torch.ops.hotgemm.linear, ht.linear):
        assert torch.autograd.gradcheck(lambda x, w, b, r: use(x, w, b, activation, r, 0.5), operands)
    assert torch.autograd.gradgradcheck(lambda x, w, b, r: torch.ops.hotgemm.linear(x, w, b, activation, r, 0.5), operands)


@pytest.mark.parametrize("activation", ["none", "gelu", "silu"])
@pytest.mark.parametrize("use", [torch.ops.hotgemm.linear, ht.linear])
def test_transforms_of_linear(kernels, use, activation):
    """In forward mode, and under torch.func, whose tensors no kernel of ours may get."""
    x, w, bias, residual = (operand.float() for operand in linear_operands())
    x, residual = x[0, :3], residual[0, :3]

    def ours(x):
        return use(x, w, bias, activation, residual, 0.5)

    def stock(x):
        return _operators._activated(0.5 * F.linear(x, w) + bias, activation) + residual

    def tangent(compute):
        with torch.autograd.forward_ad.dual_level():
            return torch.autograd.forward_ad.unpack_dual(compute(torch.autograd.forward_ad.make_dual(x, x / 2))).tangent

    for derive in (tangent, lambda compute: torch.func.jvp(compute, (x,), (x / 2,))[1],
                   lambda compute: torch.func.grad(lambda x: compute(x).sum())(x),
                   lambda compute: torch.func.jacrev(compute)(x), lambda compute: torch.func.jacfwd(compute)(x),
                   lambda compute: torch.func.hessian(lambda x: compute(x).sum())(x),
                   lambda compute: torch.vmap(torch.func.grad(lambda x: compute(x).sum()))(x.expand(2, *x.shape))):
        torch.testing.assert_close(derive(ours), derive(stock), rtol=1e-3, atol=1e-3)


def test_opcheck(kernels):
    x, w, bias, residual = linear_operands(requires_grad=True)
    for name in ("linear", "linear_with_aux"):
        operator = getattr(torch.ops.hotgemm, name).default
        for arguments in ((x, w), (x, w, bias, "relu", residual, 2.0), (x.detach(), w.detach(), bias.detach(), "none")):
            torch.library.opcheck(operator, arguments)


def test_layers_above_linear(kernels):
    x, w, bias, residual = linear_operands()
    with torch.autocast(DEVICE, torch.bfloat16):
        result = torch.ops.hotgemm.linear(x.float(), w.float(), bias.float(), "none", residual.float())
        many = ht.linear(x.float(), w.float(), bias.float(), "relu")
    assert result.dtype is many.dtype is torch.bfloat16
    assert torch.equal(result.float(), F.linear(x.float(), w.float(), bias.float()) + residual.float())
    with torch.inference_mode():
        assert torch.equal(ht.linear(x, w, bias), F.linear(x, w, bias))
    assert torch.equal(torch.vmap(lambda row, r: ht.linear(row, w, bias, "relu", r))(x, residual),
                       torch.relu(F.linear(x, w, bias)) + residual)
    both = torch.stack([w, -w])
    assert torch.equal(torch.vmap(ht.linear)(x, both), torch.stack([F.linear(x[0], w), F.linear(x[1], -w)]))


def test_compiled_linear(kernels):
    x, w, bias, residual = linear_operands()
    want = torch.relu(F.linear(x, w, bias)) + residual
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(lambda *operands: ht.linear(*operands[:3], "relu", operands[3]), backend=backend,
                                 fullgraph=True, dynamic=True)
        assert torch.equal(compiled(x, w, bias, residual), want)
        trained = [operand.clone().requires_grad_() for operand in (x, w, bias, residual)]
        compiled(*trained).sum().backward()
        stock = [operand.clone().requires_grad_() for operand in (x, w, bias, residual)]
        (torch.relu(F.linear(*stock[:3])) + stock[3]).sum().backward()
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(trained, stock))


# ---- ownership ----


def owners(tensor):
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def test_kernels_free_what_they_get(kernels):
    """A boxed kernel owns its arguments: whether it serves, passes on or raises, it must give each back once."""
    x, w, bias, residual = (operand.detach() for operand in linear_operands())
    a, b, out, c = integers(24, 40), integers(40, 16), integers(24, 16), integers(24, 16)
    double = a.double()
    tensors = (x, w, bias, residual, a, b, out, c, double)
    before = [owners(tensor) for tensor in tensors]
    linear, with_aux = torch.ops.hotgemm.linear, torch.ops.hotgemm.linear_with_aux

    def all_calls():
        results = [torch.mm(a, b), torch.bmm(a[None], b[None]), torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0.5),
                   torch.mm(double, double.t()), torch.addmm(bias, a, b, beta=2), linear(x, w),
                   linear(x, w, bias, "relu", residual), *with_aux(x, w, bias, "relu", residual),
                   linear(x[0].double(), w.double(), bias.double()), linear(x, w, bias, "none", residual, 0.5)]
        for result in (torch.mm(a, b, out=out), torch.addmm(c, a, b, out=out), torch.addmm(bias, a, b, beta=2, out=out)):
            assert result is out
        for wrong in (lambda: torch.mm(a, a), lambda: torch.bmm(a, b), lambda: torch.addmm(c, a, a),
                      lambda: torch.mm(a, b, out=double), lambda: linear(x, b), lambda: linear(x, w, bias, "rely"),
                      lambda: linear(x, w, bias, "none", c), lambda: linear(x, w, c)):
            with pytest.raises(RuntimeError):
                wrong()
        return results

    with enable(addmm=True):
        first = all_calls()
        ht.prepare()
        second = all_calls()
    assert [owners(tensor) for tensor in tensors] == before
    assert [owners(result) for result in first + second] == [owners(torch.empty(4, device=DEVICE))] * len(first + second)


def test_memory_does_not_grow(kernels):
    x, w, bias, residual = (operand.detach() for operand in linear_operands())
    x, w, bias, residual = x[0], w, bias, residual[0]
    double = [operand.double() for operand in (x, w, bias)]

    def refused():
        with contextlib.suppress(RuntimeError):
            torch.ops.hotgemm.linear(x, w, bias, "rely", residual)

    class Allocated(ctypes.Structure):  # struct mallinfo2
        _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                         "fsmblks", "uordblks", "fordblks", "keepcost")]

    allocated = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if allocated is None:
        pytest.skip("the C library does not count what is allocated")
    allocated.restype = Allocated
    for compute in (lambda: torch.ops.hotgemm.linear(*double, "relu"), refused):
        for _ in range(100):
            compute()
        before = allocated().uordblks
        for _ in range(400):
            compute()
        assert (allocated().uordblks - before) / 400 < 16  # the smallest allocation is 32 bytes


# ---- swap ----


class OwnLinear(torch.nn.Linear):
    pass


def model():
    return torch.nn.Sequential(torch.nn.Linear(40, 16), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(16, 8, False)),
                               OwnLinear(8, 8)).to(DEVICE, torch.float16)


def test_swap_linear(kernels):
    stock = model()
    with torch.no_grad():
        for parameter in stock.parameters():
            parameter.copy_(integers(*parameter.shape) / 2)
    x = integers(24, 40)
    want, parameters, names = stock(x), list(stock.parameters()), list(stock.state_dict())
    swap = ht.swap_linear(stock)
    assert len(swap) == 2 and [type(stock[0]), type(stock[3])] == [ht.Linear, OwnLinear]
    assert all(a is b for a, b in zip(stock.parameters(), parameters)) and list(stock.state_dict()) == names
    assert torch.equal(counted_linear(lambda: stock(x), calls=2), want)
    stock(x).sum().backward()
    assert all(parameter.grad is not None for parameter in parameters)
    assert len(ht.swap_linear(stock)) == 0  # they are swapped already
    swap.undo()
    assert type(stock[0]) is torch.nn.Linear and torch.equal(stock(x), want)
    ht.report(reset=True)
    with ht.swap_linear(stock, where=lambda name, layer: name == "0") as one:
        assert len(one) == 1
        stock(x)
    stock(x)
    assert ht.report().served["linear"] == 1
    alone = torch.nn.Linear(4, 4)
    assert len(ht.swap_linear(alone)) == 1 and type(alone) is ht.Linear


def test_undo_says_which_layers_it_leaves(kernels):
    stock = model()
    swap = ht.swap_linear(stock)
    torch.nn.utils.parametrizations.weight_norm(stock[0])  # derives a class from that of the layer
    with pytest.warns(UserWarning, match="leaves 1 of 2 layers"):
        swap.undo()
    assert isinstance(stock[0], ht.Linear) and type(stock[2][0]) is torch.nn.Linear


# ---- vLLM ----


def test_vllm_plugin(monkeypatch):
    """A stub of what vLLM does: it loads the entry points of the group, and calls each, maybe several times."""
    from hotgemm.torch import _vllm
    enabled = []
    monkeypatch.setattr(_vllm, "_enabled", None)
    monkeypatch.setattr(_vllm._override, "enable", lambda: enabled.append(enable()) or enabled[-1])
    plugin = importlib.metadata.EntryPoint("hotgemm", "hotgemm.torch:vllm_plugin", "vllm.general_plugins").load()
    monkeypatch.delenv("VLLM_PLUGINS", raising=False)
    plugin()
    assert not enabled  # nobody has asked for it
    monkeypatch.setenv("VLLM_PLUGINS", "other,hotgemm")
    for _ in range(3):
        plugin()
    assert len(enabled) == 1 and ht.is_enabled()
    a = integers(16, 16)
    torch.mm(a, a)
    assert len(ht.report().problems) == 1


# ---- the example, and the import ----


def test_example(monkeypatch, capsys):
    """Its layers, with the override; its main ends early where there is no GPU."""
    example = runpy.run_path(str(ROOT / "examples/python/transformer.py"))
    torch.manual_seed(0)
    block = example["Block"](64, 4).to(DEVICE, torch.bfloat16).eval()
    x = torch.randn(2, 8, 64, dtype=torch.bfloat16, device=DEVICE)
    with torch.inference_mode():
        torch.testing.assert_close(served("mm", lambda: block(x), calls=4), block(x))
    monkeypatch.setattr(sys, "argv", ["transformer.py", "--hidden=64", "--heads=4", "--layers=1", "--tokens=8", "--batch=2"])
    example["main"]()
    assert "PyTorch: " in capsys.readouterr().out


def test_the_import_overrides_nothing_and_opens_no_driver():
    program = ("import torch, hotgemm.torch as ht, os; a = torch.ones(4, 4); torch.mm(a, a); "
               "assert os.environ.get('HOTGEMM_LIBCUDA', '-') not in open('/proc/self/maps').read().split(); "
               "assert not ht.is_enabled(); assert not torch.cuda.is_initialized()")
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- PyTorch's own samples ----


# ---- hotgemm.matmul ----


@pytest.fixture
def direct(monkeypatch):
    """The tensors that libhotgemm_torch.so read; the package takes those of the device for CUDA's."""
    from hotgemm import _context, _direct
    monkeypatch.setattr(_direct, "products", {})
    _direct.enable(torch, KEY)
    _context.default_handle()
    assert set(_direct.products) == {torch.Tensor, torch.nn.Parameter}, "this PyTorch has no exchange interface"
    answers = []
    product = _direct.products[torch.Tensor]

    def noted(a, b, out):
        status = product(a, b, out)
        answers.append(status == 0)
        return status

    _direct.products.update({kind: noted for kind in _direct.products})
    return answers


@pytest.mark.parametrize("dtype", [*HALF, torch.float32])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_matmul_reads_matrices_without_python(direct, dtype, layout):
    a = integers(24, 40, dtype=dtype) if layout[0] == "n" else integers(40, 24, dtype=dtype).t()
    b = integers(40, 16, dtype=dtype) if layout[1] == "n" else integers(16, 40, dtype=dtype).t()
    wide = torch.zeros(24, 19, dtype=dtype, device=DEVICE)
    for out in (wide[:, 3:], torch.zeros(16, 24, dtype=dtype, device=DEVICE).t()):
        assert hotgemm.matmul(a, b, out) is out
        assert torch.equal(out, torch.mm(a, b))
    assert direct == [True, True] and not wide[:, :3].any()


def test_matmul_of_parameters_while_gradients_are_off(direct):
    a, weight, out = integers(8, 16), torch.nn.Parameter(integers(16, 8)), integers(8, 8)
    with torch.no_grad():
        hotgemm.matmul(a, weight, out)
        assert torch.equal(out, torch.mm(a, weight))
    assert direct == [True]
    with pytest.raises(hotgemm.InvalidArgument, match="requires a gradient" if DEVICE == "cuda" else None):
        hotgemm.matmul(a, weight, out)
    assert direct == [True, False]


def test_matmul_leaves_to_python_what_is_not_plain(direct):
    a, b = integers(8, 16), integers(16, 8)
    for first, second, out in ((a, b, integers(8, 9)), (a, b.bfloat16(), integers(8, 8)), (a, integers(15, 8), integers(8, 8)),
                               (a, b, integers(8, 8, dtype=torch.float32)), (a, b[:, ::2], integers(8, 4)),
                               (a.to_sparse(), b, integers(8, 8)), (a[:0], b, integers(0, 8)),
                               (integers(2, 8, 16), integers(2, 16, 8), integers(2, 8, 8))):
        with contextlib.suppress(Exception):  # what Python says of them is tested elsewhere
            hotgemm.matmul(first, second, out)
        assert direct.pop() is False and not direct
    with contextlib.suppress(hotgemm.Error):
        hotgemm.matmul(a, b, integers(8, 8), alpha=2.0)
    assert direct == []


def test_matmul_leaves_negative_views_to_python(direct):
    """DLPack's interface does not say that a tensor negates what it views."""
    negative = torch.complex(torch.zeros(1, 8), torch.arange(8.0)[None]).to(DEVICE).conj().imag
    b, out = integers(8, 4, dtype=torch.float32), torch.zeros(1, 4, device=DEVICE)
    assert negative.is_neg()
    with pytest.raises(hotgemm.InvalidArgument, match="resolve_neg" if DEVICE == "cuda" else None):
        hotgemm.matmul(negative, b, out)
    assert direct == [False] and not out.any()
    hotgemm.matmul(negative.resolve_neg(), b, out)
    assert direct == [False, True] and torch.equal(out, negative @ b)


def test_matmul_into_what_a_backward_pass_needs(direct):
    a, factor, weight = integers(8, 8), integers(8, 8), integers(8, 8, requires_grad=True)
    with torch.no_grad():
        hotgemm.matmul(a, a, factor)
    y = (weight * factor).sum()
    with torch.no_grad():
        hotgemm.matmul(a, a, factor)
    assert direct == [True, True]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_matmul_raises_what_the_library_says(direct):
    context = hotgemm.Context(policy="cached_only", cache_directory=tempfile.mkdtemp())
    from hotgemm import _context, _direct
    _direct.use(context.handle)
    try:
        with pytest.raises(hotgemm.NotPrepared, match="40 8 16 nn f16"):
            hotgemm.matmul(integers(40, 16), integers(16, 8), integers(40, 8))
    finally:
        _direct.use(_context.default_handle())
    assert direct == [False]


def test_matmul_names_itself_in_errors(direct):
    with pytest.raises(TypeError, match=r"^matmul\(\) got an unexpected keyword argument 'gamma'"):
        hotgemm.matmul(integers(8, 16), integers(16, 8), integers(8, 8), gamma=1)
    assert direct == []


@pytest.mark.parametrize("dtype", [*HALF, torch.float32])
@pytest.mark.parametrize("name, function", [("mm", torch.mm), ("bmm", torch.bmm), ("addmm", torch.addmm),
                                            ("nn.functional.linear", F.linear), ("matmul", torch.matmul)])
def test_samples_of_pytorch(name, function, dtype):
    """Each sample passed on, because nothing is prepared, and then served, if a kernel of ours has its form."""
    methods = pytest.importorskip("torch.testing._internal.common_methods_invocations",
                                  reason="this PyTorch has no samples of its operators, or no expecttest")
    (info,) = [info for info in methods.op_db if info.name == name and info.variant_test_name == ""]
    samples = list(info.sample_inputs(DEVICE, dtype))
    if dtype is not torch.float16 and os.environ.get("HOTGEMM_TEST_FULL") != "1":
        samples = samples[:7]  # each compiles a kernel
    assert samples
    wanted = [function(sample.input, *sample.args, **sample.kwargs) for sample in samples]
    with enable(addmm=True):
        for again in (False, True):
            for sample, want in zip(samples, wanted):
                torch.testing.assert_close(function(sample.input, *sample.args, **sample.kwargs), want)
            if not again:
                ht.prepare()
                ht.report(reset=True)
        report = ht.report()
    assert sum(report.served.values()) > 0
    for reasons in report.passed_on.values():
        assert set(reasons) <= {"an empty operand", "a bias, residual or scalar"}, str(report)


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
