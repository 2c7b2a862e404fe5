"""Contexts, plans, tuning, prewarming, counters and logs."""

import gc
import logging
import pathlib
import re
import threading

import numpy as np
import pytest

import hotgemm
from device import array, driver, empty, integers

M, N, K = 32, 48, 64
PROBLEM = "32 48 64 nn f16"


def arrays(m=M):
    return integers((m, K)), integers((K, N), seed=1), empty((m, N))


def is_right(a, b, out):
    return np.array_equal(out.values, a.values @ b.values)


# ---- contexts ----


def test_options_are_taken_by_name(tmp_path):
    with hotgemm.Context(policy="estimate", cache_directory=tmp_path / "a", workspace_bytes="64M", max_plans=7,
                         tuning={"budget_s": 0.5}, background={"loads_kernels": False}) as context:
        hotgemm.matmul(*arrays(), context=context)
        assert hotgemm.stats(context)["launches"] == 1
    assert any((tmp_path / "a").rglob("*"))
    assert {"policy", "tuning.budget_s", "background.loads_kernels"} <= set(hotgemm.option_names())


def test_relative_directories_stay_when_the_process_goes_elsewhere(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
    monkeypatch.chdir(first)
    with hotgemm.Context(policy="tune", cache_directory="cache", problem_log="log",
                         tuning={"budget_s": 100, "max_candidates": 2, "scratch_bytes": "1M"}) as context:
        monkeypatch.chdir(second)
        hotgemm.matmul(*arrays(), context=context)
    assert list((first / "cache/v1/db").iterdir()) and list((first / "log").iterdir())
    assert not list(second.iterdir())


def test_a_relative_directory_of_no_directory_is_named(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(hotgemm.IoError, match='cache_directory is "cache".*No such file'):
        hotgemm.Context(cache_directory="cache")


def test_options_are_described_where_help_says():
    files = re.findall(r"[\w/]+\.(?:md|hpp)", hotgemm.Context.__doc__)
    described = "".join((pathlib.Path(__file__).parents[2] / file).read_text(encoding="utf-8") for file in files)
    missing = [name for name in hotgemm.option_names() if not re.search(rf"\b{name.rpartition('.')[2]}\b", described)]
    assert files and not missing


@pytest.mark.parametrize("options, word", [(dict(polcy="estimate"), "polcy"), (dict(policy="best"), "best"),
                                           (dict(tuning={"budget": 1}), "tuning.budget"), (dict(max_plans="x"), "max_plans")])
def test_bad_options_are_named(options, word):
    with pytest.raises(hotgemm.InvalidArgument, match=word):
        hotgemm.Context(**options)


def test_closed_contexts_are_refused(tmp_path):
    context = hotgemm.Context(cache_directory=tmp_path)
    context.close()
    context.close()
    with pytest.raises(hotgemm.InvalidArgument, match="the context is closed"):
        hotgemm.matmul(*arrays(), context=context)


def test_the_default_context_is_configured_before_its_first_use():
    hotgemm.stats()
    with pytest.raises(hotgemm.InvalidArgument):
        hotgemm.configure(policy="estimate")


def test_counters(tmp_path):
    with hotgemm.Context(policy="estimate", cache_directory=tmp_path) as context:
        for _ in range(3):
            hotgemm.matmul(*arrays(), context=context)
        stats = hotgemm.stats(context)
        assert (stats["launches"], stats["plans"], stats["compiled"]) == (3, 1, 1)
        assert stats["planning_s"] >= stats["compiling_s"] > 0
        assert "\nhotgemm_launches_total 3\n" in hotgemm.metrics(context)
        assert len(hotgemm.records_digest(context)) == 64
        assert hotgemm.reload(context) == 0
        hotgemm.pause_tuning(context)
        hotgemm.resume_tuning(context)
        hotgemm.cancel_tuning(context)
        assert hotgemm.wait_tuned(0.01, context) is True


# ---- plans ----


def test_plans_launch():
    a, b, out = arrays()
    plan = hotgemm.plan(a, b, out, policy="estimate")
    launches = hotgemm.stats()["launches"]
    assert plan.launch(a, b, out) is out
    assert is_right(a, b, out) and hotgemm.stats()["launches"] == launches + 1
    plan.launch(a, b, out, alpha=2.0, stream=driver().stream())
    assert np.array_equal(out.values, 2 * (a.values @ b.values))
    facts = plan.facts()
    assert facts["origin"] == "estimated" and facts["threads"] > 0 and facts["spill_bytes"] == 0
    assert plan.config in plan.explain() and plan.config in repr(plan) and PROBLEM in repr(plan)
    assert plan.refresh() is False


def test_plans_have_the_epilogue_that_they_were_made_with():
    a, b, out = arrays()
    bias = integers((N,), seed=2)
    plan = hotgemm.plan(a, b, out, bias=bias, activation="relu")
    plan.launch(a, b, out, bias=bias)
    assert np.array_equal(out.values, np.maximum(a.values @ b.values + bias.values, 0))
    with pytest.raises(hotgemm.InvalidArgument, match="epilogue=bias.relu, and the arrays are for .*epilogue=relu"):
        plan.launch(a, b, out)


def test_plans_refuse_other_shapes():
    plan = hotgemm.plan(*arrays())
    with pytest.raises(hotgemm.InvalidArgument, match="the plan is for 32 48 64 nn f16, and the arrays are for 31 48 64"):
        plan.launch(*arrays(31))
    with pytest.raises(hotgemm.InvalidArgument, match="policy is 'quick'"):
        hotgemm.plan(*arrays(), policy="quick")


def test_plans_outlive_their_context(tmp_path):
    with hotgemm.Context(policy="estimate", cache_directory=tmp_path) as context:
        plan = hotgemm.plan(*arrays(), context=context)
    del plan


# ---- prewarming ----


def test_prewarm_is_what_cached_only_needs(tmp_path):
    a, b, out = arrays()
    text = hotgemm.problem(a, b, out)
    with hotgemm.Context(policy="cached_only", cache_directory=tmp_path) as context:
        with pytest.raises(hotgemm.NotPrepared):
            hotgemm.matmul(a, b, out, context=context)
    told = []
    with hotgemm.Context(cache_directory=tmp_path) as context:
        report = hotgemm.prewarm(text, "sm_90a", context=context, progress=lambda *numbers: told.append(numbers))
        assert (report.compiled, report.cached, report.stored) == (1, 0, 1) and told == [(1, 1)]
        entry, = report.entries
        assert (entry.arch, entry.origin, entry.from_cache, entry.failure) == ("sm_90a", "estimated", False, "")
        assert entry.problem.startswith(PROBLEM) and entry.registers > 0
        assert hotgemm.prewarm([text], ["sm_90a"], context=context).cached == 1
    with hotgemm.Context(policy="cached_only", cache_directory=tmp_path) as context:
        hotgemm.matmul(a, b, out, context=context)
        assert is_right(a, b, out)
        assert hotgemm.stats(context)["compiled"] == 0
        assert hotgemm.plan(a, b, out, context=context).config == entry.config


def test_prewarm_stops(tmp_path):
    with hotgemm.Context(cache_directory=tmp_path) as context:
        with pytest.raises(hotgemm.Interrupted):
            hotgemm.prewarm([PROBLEM, "64 64 4096 nn f32"], "sm_80", jobs=1, context=context, progress=lambda *_: False)
        with pytest.raises(ZeroDivisionError):
            hotgemm.prewarm([PROBLEM], "sm_86", context=context, progress=lambda *_: 1 / 0)
        with pytest.raises(hotgemm.InvalidArgument, match="f19"):
            hotgemm.prewarm("1 2 3 nn f19", "sm_80", context=context)
        with pytest.raises(hotgemm.InvalidArgument, match="sm_42"):
            hotgemm.prewarm(PROBLEM, "sm_42", context=context)


# ---- tuning ----


def test_tune_records(tmp_path):
    a, b, out = arrays()
    text = hotgemm.problem(a, b, out)
    with hotgemm.Context(policy="estimate", cache_directory=tmp_path, worker="none") as context:
        driver().make_current()
        told = []
        result, = hotgemm.tune(text, max_candidates=2, budget_s=60.0, scratch_bytes=4 << 20, rounds=1, jobs=1,
                               context=context, progress=told.append)
        assert told == [result] and result.failure == "" and result.measured >= 1 and not result.was_recorded
        assert result.median_us > 0 and result.tflops > 0 and result.problem.startswith(PROBLEM)
        again, = hotgemm.tune([text], context=context)
        assert again.was_recorded and again.config == result.config
        hotgemm.matmul(a, b, out, context=context)
        hotgemm.matmul(a, b, out, only="tuned", context=context)
        assert is_right(a, b, out)
        plan = hotgemm.plan(a, b, out, context=context)
        assert (plan.facts()["origin"], plan.config) == ("tuned", result.config)


def test_tune_stops(tmp_path):
    with hotgemm.Context(cache_directory=tmp_path, worker="none") as context:
        few = dict(max_candidates=1, budget_s=60.0, scratch_bytes=4 << 20, rounds=1, jobs=1, context=context)
        with pytest.raises(hotgemm.Interrupted):
            hotgemm.tune([PROBLEM, "64 64 64 nn f16"], progress=lambda result: False, **few)
        with pytest.raises(KeyError):
            hotgemm.tune(["96 64 64 nn f16"], progress=lambda result: {}["no"], **few)
        with pytest.raises(hotgemm.InvalidArgument, match="f19"):
            hotgemm.tune("1 2 3 nn f19", **few)


# ---- threads ----


def test_threads_have_calls_of_their_own(tmp_path):
    failures = []
    stream = driver().stream()

    def work(seed):
        try:
            driver().make_current()
            a, b, out = integers((M, K), seed=seed), integers((K, N), seed=seed + 100), empty((M, N))
            expected = a.host.astype(float) @ b.host.astype(float)
            for _ in range(50):
                hotgemm.matmul(a, b, out, stream=stream)
            assert np.array_equal(out.values, expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_without_a_cuda_context_get_that_of_the_stream():
    a, b, out = arrays()
    hotgemm.matmul(a, b, out)
    stream = driver().stream()
    failures = []

    def work():
        try:
            hotgemm.matmul(a, b, out, stream=stream)
            with pytest.raises(hotgemm.NoDevice):
                hotgemm.matmul(a, b, out)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures


# ---- logs ----


def test_messages_go_to_logging(caplog, tmp_path):
    unusable = tmp_path / "file"
    unusable.write_text("")
    hotgemm.set_log_level(logging.DEBUG)
    try:
        with caplog.at_level(logging.DEBUG, logger="hotgemm"), \
                hotgemm.Context(policy="estimate", cache_directory=unusable / "cache") as context:
            hotgemm.matmul(*arrays(), context=context)
    finally:
        hotgemm.set_log_level("warn")
    assert {record.name for record in caplog.records} == {"hotgemm"}
    assert any(str(unusable) in record.getMessage() and record.levelno >= logging.WARNING for record in caplog.records)
    with pytest.raises(hotgemm.InvalidArgument, match="loud"):
        hotgemm.set_log_level("loud")


def test_a_context_that_is_collected_within_a_message_ends_on_another_thread(tmp_path, monkeypatch):
    """A message of one of its own threads would wait for that thread."""
    functions, ended, on = hotgemm._c.library(), threading.Event(), []
    destroy = functions.context_destroy

    def noted(handle):
        on.append(threading.get_ident())
        destroy(handle)
        ended.set()

    class Collecting(logging.Handler):
        def emit(self, record):
            gc.collect()

    monkeypatch.setattr(functions, "context_destroy", noted)
    logger, handler = logging.getLogger("hotgemm"), Collecting()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    gc.disable()
    try:
        lost = hotgemm.Context(policy="estimate", cache_directory=tmp_path / "a")
        lost.itself = lost
        del lost
        hotgemm.set_log_level("info")
        with hotgemm.Context(policy="estimate", cache_directory=tmp_path / "b") as context:
            hotgemm.matmul(*arrays(8), context=context)
            assert ended.wait(60) and on[0] != threading.get_ident()
    finally:
        hotgemm.set_log_level("warn")
        gc.enable()
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
