"""report(): what hotgemm has served of the calls that reached it, and why the others were passed on."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import c_uint64
from dataclasses import dataclass, field

import torch

from .. import _c, _context
from . import _adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Problem:
    """A problem that calls had."""

    text: str  # as in shape files
    device: int
    served: int
    declined: int  # not prepared, or what `when` asks for does not hold
    failed: int
    failure: str  # the message of the first failure

    @property
    def calls(self) -> int:
        return self.served + self.declined + self.failed


@dataclass(frozen=True)
class Report:
    """Counts of calls since the start of the process, or since the last report(reset=True)."""

    served: dict[str, int]  # by operator: "mm", "bmm", "addmm", "linear"
    passed_on: dict[str, dict[str, int]]  # by operator, and by reason
    problems: list[Problem] = field(default_factory=list)  # those with the most calls first; at most 4096

    def to_tune(self) -> list[str]:
        """The problems that were passed on, for hotgemm.tune() and prewarm(): those with the most calls first."""
        return list(self._declined())

    def shapes(self) -> str:
        """The same as the text of a shape file, with the number of calls: for
        `hotgemm tune --cublas-default --shapes FILE`, whose records say what is as fast as cuBLAS."""
        return "".join(f"{text} count={calls}\n" for text, calls in self._declined().items())

    def _declined(self) -> dict[str, int]:
        calls: dict[str, int] = {}  # of all devices
        for problem in self.problems:
            if problem.declined:
                calls[problem.text] = calls.get(problem.text, 0) + problem.calls
        return calls

    def __str__(self) -> str:
        lines = []
        for operator in self.served:
            reasons = self.passed_on[operator]
            total = self.served[operator] + sum(reasons.values())
            if total:
                lines.append(f"{operator}: {self.served[operator]} of {total} calls served")
                lines += [f"  {count} passed on: {reason}" for reason, count in reasons.items()]
        if not lines:
            return "hotgemm: no call of an operator that it overrides or defines"
        if self.problems:
            lines.append("served  passed on  problem")
            lines += [f"{problem.served:6}  {problem.declined + problem.failed:9}  {problem.text}"
                      + (f"  ({problem.failure})" if problem.failure else "") for problem in self.problems]
        return "\n".join(lines)


def report(*, reset: bool = False) -> Report:
    """What was served and passed on in this process. With `reset` the counts start again at zero."""
    opened = _adapter.library()
    operators = opened.hotgemm_torch_operators().decode().splitlines()
    outcomes = opened.hotgemm_torch_outcomes().decode().splitlines()
    counts = (c_uint64 * (len(operators) * len(outcomes)))()
    opened.hotgemm_torch_counts(counts, reset)
    problems = _problems(reset)
    served, passed_on = {}, {}
    for row, operator in enumerate(operators):
        by_outcome = dict(zip(outcomes, counts[row * len(outcomes):(row + 1) * len(outcomes)]))
        served[operator] = by_outcome.pop("served")
        passed_on[operator] = {reason: count for reason, count in by_outcome.items() if count}
    return Report(served, passed_on, problems)


def prepare() -> int:
    """Compiles and loads kernels for the problems that were passed on, without measuring; returns how many problems have
    one now. After it, ``enable(when="prepared")`` serves them; "as_fast" asks for records, which `hotgemm tune --cublas-default` makes.

    Raises the exception of hotgemm if a kernel cannot be made.
    """
    functions, context = _c.library(), _context.default_handle()
    prepared = 0

    def plan(seen: Any) -> None:
        nonlocal prepared
        if not seen.declined:
            return
        made, call = ctypes.c_void_p(), _c.Call(device=seen.device)
        # A plan belongs to the current CUDA context; the device of the call counts only where there is none.
        with torch.cuda.device(seen.device) if torch.cuda.is_initialized() else contextlib.nullcontext():
            _c.check(functions.plan_create(context, seen.problem, seen.operands, _c.POLICY["ESTIMATE"], None,
                                           ctypes.byref(call), ctypes.byref(made)))
        functions.plan_destroy(made)
        prepared += 1

    _visit(plan, reset=False)
    return prepared


def _problems(reset: bool) -> list[Problem]:
    problems = []

    def add(seen: Any) -> None:
        text = _c.text(_c.library().problem_text, seen.problem, seen.operands)
        problems.append(Problem(text, seen.device, seen.served, seen.declined, seen.failed,
                                seen.failure.decode(errors="replace")))

    _visit(add, reset)
    return sorted(problems, key=lambda problem: -problem.calls)


def _visit(act: Any, reset: bool) -> None:
    """Calls `act` for each problem, whose counts `reset` sets to zero. An exception cannot cross C: it is kept, and
    raised behind the last."""
    raised: list[BaseException] = []

    def visit(_: Any, seen: Any) -> None:
        if not raised:
            try:
                act(seen.contents)
            except BaseException as error:  # noqa: BLE001
                raised.append(error)

    _adapter.library().hotgemm_torch_visit(_adapter.Visit(visit), None, reset)
    if raised:
        raise raised[0]
