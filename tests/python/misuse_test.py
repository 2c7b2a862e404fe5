"""Mistakes of a program: each is an error that names it, and loses nothing."""

import copy
import fractions
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import hotgemm
from device import Array, DLPackArray, Memory, empty, integers

SMALL = "64 64 64 nn f16"


@pytest.fixture(name="context")
def _context(tmp_path):
    with hotgemm.Context(policy="estimate", cache_directory=tmp_path, worker="none") as context:
        yield context


def arrays():
    return integers((64, 64)), integers((64, 64), seed=1), empty((64, 64))


def is_right(a, b, out):
    return np.array_equal(out.values, a.values @ b.values)


# ---- arrays ----


def test_strides_that_divide_an_element_are_refused(context):
    a, b, out = arrays()
    memory = Memory(64 * 129 + 64)
    values = np.ndarray((64, 64), np.float16, memory.bytes, 0, (129, 2))
    with pytest.raises(hotgemm.InvalidArgument, match=r"a of shape \(64, 64\) and strides \(129, 2\) bytes"):
        hotgemm.matmul(Array(values, "float16", memory), b, out, context=context)


@pytest.mark.parametrize("name", ["a", "b", "out", "residual"])
def test_a_copy_of_the_producer_is_refused(context, name):
    class Copied(DLPackArray):
        flags = 2

    operands = {"residual": empty((64, 64)), **dict(zip(("a", "b", "out"), arrays()))}
    copied = operands[name]
    operands[name] = Copied(copied.host, "float16", copied.memory)
    for _ in range(2):
        with pytest.raises(hotgemm.InvalidArgument, match=f"{name} of shape .* is a copy that its producer has made"):
            hotgemm.matmul(**operands, context=context)


def test_a_type_that_contradicts_out_is_refused(context):
    a, b, out = arrays()
    hotgemm.matmul(a, b, out, dtype="float16", context=context)
    for dtype in ("float32", "int3"):
        with pytest.raises(hotgemm.InvalidArgument, match=f"dtype is '{dtype}', and out has elements of type float16"):
            hotgemm.matmul(a, b, out, dtype=dtype, context=context)


def test_batches_that_run_backwards_are_named(context):
    a, b, out = integers((3, 64, 32)), integers((3, 32, 64)), empty((3, 64, 64))
    for result in (out, out.T):  # the latter is computed as the transposed product
        for name in ("a", "b", "out"):
            operands = {"a": a, "b": b, "out": result}
            operands[name] = operands[name][::-1]
            with pytest.raises(hotgemm.InvalidArgument, match=rf"^{name} of shape \(3, .* and strides \(-"):
                hotgemm.matmul(**operands, context=context)


@pytest.mark.parametrize("transposed", [False, True])
def test_messages_show_arrays_as_they_were_passed(context, transposed):
    def like(shape, in_columns):
        return empty(shape[::-1]).T if in_columns else empty(shape)

    arguments = {"a": integers((64, 32)), "b": integers((32, 48)), "out": like((64, 48), transposed), "context": context}
    lines, strides = ("columns", r"\(48, 1\)") if transposed else ("rows", r"\(1, 64\)")
    with pytest.raises(hotgemm.InvalidArgument, match=rf"^residual of shape \(64, 48\) and strides {strides}: expected {lines} "
                                                      "without gaps .* as out has them; copy it into an array like out"):
        hotgemm.matmul(**arguments, residual=like((64, 48), not transposed))
    with pytest.raises(hotgemm.InvalidArgument, match=r"^c of shape \(64, 32\); expected \(64, 48\), the shape of out"):
        hotgemm.matmul(**arguments, c=empty((64, 32)), beta=1.0)
    with pytest.raises(hotgemm.InvalidArgument, match=r"^a of shape \(64, 32\) and strides \(64, 2\): expected rows or"):
        hotgemm.matmul(**{**arguments, "a": integers((64, 64))[:, ::2]})


# ---- numbers and words ----


def test_numbers_that_do_not_fit_are_named(context):
    a, b, out = arrays()
    for name, call in (("sm_limit", lambda: hotgemm.problem(a, b, out, sm_limit=2**32 + 5)),
                       ("stream", lambda: hotgemm.matmul(a, b, out, stream=2**70, context=context)),
                       ("alpha", lambda: hotgemm.matmul(a, b, out, alpha=1e300, context=context)),
                       ("jobs", lambda: hotgemm.tune(SMALL, jobs=2**32, context=context)),
                       ("seed", lambda: hotgemm.tune(SMALL, seed=-1, context=context)),
                       ("seconds", lambda: hotgemm.wait_tuned(float("nan"), context=context))):
        with pytest.raises(hotgemm.InvalidArgument, match=f"^{name} is "):
            call()
    with pytest.raises(hotgemm.InvalidArgument, match="^sm_limit is "):
        hotgemm.problem(a, b, out, sm_limit=np.int64(2**32 + 5))
    for huge in (10**400, fractions.Fraction(10**400)):
        with pytest.raises(hotgemm.InvalidArgument, match="^alpha is .* out of range"):
            hotgemm.problem(a, b, out, alpha=huge)
    for name, value in (("sm_limit", None), ("sm_limit", 1.0), ("alpha", np.ones(2)), ("beta", "2")):
        with pytest.raises(TypeError, match=f"^{name} is "):
            hotgemm.problem(a, b, out, **{name: value})
    with pytest.raises(TypeError, match="^jobs is 'all'"):
        hotgemm.prewarm(SMALL, "sm_90a", jobs="all", context=context)
    hotgemm.matmul(a, b, out, stream=np.int64(0), context=context)
    assert is_right(a, b, out)
    assert hotgemm.wait_tuned(-0.001, context)


def test_options_for_tuning_that_have_no_meaning(tmp_path, context):
    for name, value in (("budget_s", float("nan")), ("budget_s", -1), ("max_candidates", -7), ("scratch_share", 9),
                        ("scratch_bytes", -1), ("jobs", -1), ("rounds", -3)):
        with pytest.raises(hotgemm.InvalidArgument, match=f"{name} is "):
            hotgemm.Context(policy="tune", cache_directory=tmp_path, tuning={name: value})
        with pytest.raises(hotgemm.InvalidArgument, match=f"{name} is "):
            hotgemm.tune(SMALL, context=context, **{name: value})
    with pytest.raises(hotgemm.InvalidArgument, match="jobs is -3"):
        hotgemm.prewarm(SMALL, "sm_90a", jobs=-3, context=context)


def test_texts_and_options_of_other_types(tmp_path, monkeypatch, context):
    monkeypatch.chdir(tmp_path)
    hotgemm.Context(cache_directory=None, problem_log=None, worker=None).close()
    hotgemm.Context(cache_directory=os.fsencode(tmp_path / "bytes"), tuning={"max_candidates": np.int64(4)},
                    background={"loads_kernels": np.bool_(False)}).close()
    assert not (tmp_path / "None").exists()
    for make in (lambda: hotgemm.Context(cache_directory="/tmp/x\0y"), lambda: hotgemm.tune(SMALL + "\0", context=context),
                 lambda: hotgemm.prewarm(SMALL, "sm_90a\0", context=context)):
        with pytest.raises(hotgemm.InvalidArgument, match="null character"):
            make()
    a, b, out = arrays()
    for call in (lambda: hotgemm.Context(cache_directory=3j), lambda: hotgemm.tune(SMALL.encode(), context=context),
                 lambda: hotgemm.tune([3], context=context), lambda: hotgemm.matmul(a, b, out, context=3)):
        with pytest.raises(TypeError, match="expected"):
            call()
    with pytest.raises(hotgemm.InvalidArgument, match=r"activation is \['relu'\]"):
        hotgemm.matmul(a, b, out, activation=["relu"], context=context)
    hotgemm.set_log_level(-5)
    hotgemm.set_log_level("warn")


# ---- what owns a handle ----


def test_plans_and_contexts_cannot_be_copied(context):
    plan = hotgemm.plan(*arrays(), context=context)
    for owner in (plan, context):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"a hotgemm.{type(owner).__name__} cannot be copied or pickled"):
                attempt(owner)


def test_a_plan_of_a_closed_context_launches_nothing(tmp_path):
    a, b, out = arrays()
    context = hotgemm.Context(policy="estimate", cache_directory=tmp_path, worker="none")
    plan = hotgemm.plan(a, b, out, context=context)
    context.close()
    with pytest.raises(hotgemm.InvalidArgument, match="the context is closed"):
        plan.launch(a, b, out)


def test_a_context_in_use_stays_open(context):
    for call in (lambda: hotgemm.tune(SMALL, max_candidates=2, context=context, progress=lambda _: context.close()),
                 lambda: hotgemm.prewarm("129 333 777 nt bf16", "sm_90a", context=context,
                                         progress=lambda *_: context.close())):
        with pytest.raises(hotgemm.InvalidArgument, match="in use by tune"):
            call()
    a, b, out = arrays()
    hotgemm.matmul(a, b, out, context=context)
    assert is_right(a, b, out)


# ---- within each other ----


def test_a_product_within_a_product_of_the_same_kind(tmp_path):
    a, b, out = arrays()
    inner = arrays()

    class Nested(hotgemm.Context):
        is_nested = False

        @property
        def handle(self):
            if self.is_nested:  # Plan.launch asks when the addresses are set
                self.is_nested = False
                hotgemm.matmul(*inner, context=self)
            return super().handle

    with Nested(policy="estimate", cache_directory=tmp_path, worker="none") as context:
        plan = hotgemm.plan(a, b, out, context=context)
        for _ in range(2):
            context.is_nested = True
            plan.launch(a, b, out)
            assert not context.is_nested and is_right(a, b, out) and is_right(*inner)
            out.values[...] = inner[2].values[...] = 0


def test_a_signal_handler_may_multiply(context):
    a, b, out = arrays()
    inner = arrays()
    hotgemm.matmul(a, b, out, context=context)
    is_over = False

    def multiply(*_):
        hotgemm.matmul(*inner, context=context)
        if not is_over:
            signal.setitimer(signal.ITIMER_REAL, 2e-4)  # never two at a time

    before = signal.signal(signal.SIGALRM, multiply)
    signal.setitimer(signal.ITIMER_REAL, 2e-4)
    try:
        for _ in range(1000):
            out.values[...] = 0
            hotgemm.matmul(a, b, out, context=context)
            assert is_right(a, b, out)
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert is_right(*inner)


# ---- Ctrl-C ----


def interrupt_after(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_an_interrupt_ends_a_tuning(context):
    problems = [f"{64 * i} 64 64 nn f16" for i in range(1, 9)]
    told = []

    def progress(result):
        told.append(result)
        os.kill(os.getpid(), signal.SIGINT)  # raises here

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            hotgemm.tune(problems, retune=True, max_candidates=1, budget_s=60.0, scratch_bytes=4 << 20, rounds=1, jobs=1,
                         context=context, progress=progress)
        assert len(told) == 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(1))  # it raises nothing
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(hotgemm.Interrupted, match="after Ctrl-C"):
            hotgemm.tune(problems * 20, retune=True, max_candidates=1, budget_s=60.0, scratch_bytes=4 << 20, rounds=1,
                         jobs=1, context=context)
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_wait(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with hotgemm.Context(policy="background", cache_directory=tmp_path, worker="none") as context:
            hotgemm.pause_tuning(context)
            a, b, out = arrays()
            for _ in range(3):
                hotgemm.matmul(a, b, out, context=context)
            if hotgemm.wait_tuned(0, context):
                pytest.skip("no class waits for tuning")
            start = time.monotonic()
            interrupt_after(0.3)
            with pytest.raises(KeyboardInterrupt):
                hotgemm.wait_tuned(60, context)
            assert time.monotonic() - start < 30
            signal.signal(signal.SIGINT, lambda *_: context.close())
            interrupt_after(0.3)
            with pytest.raises(hotgemm.InvalidArgument, match="the context is closed"):
                hotgemm.wait_tuned(60, context)
    finally:
        signal.signal(signal.SIGINT, before)
