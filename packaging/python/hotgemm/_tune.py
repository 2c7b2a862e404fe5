"""Tuning on request."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from . import _c, _context, _interrupt
from ._errors import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable


class TuneResult(NamedTuple):
    """What tuning found for one problem."""

    problem: str
    config: str  # the pick; empty if there is none
    launch: str  # how it is launched: raster, splits, copies
    failure: str  # why there is no pick; empty if there is one
    measured: int  # candidates that were checked and timed
    was_recorded: bool  # an earlier record answered; nothing was measured
    median_us: float
    tflops: float
    seconds: float  # of compiling, checking and measuring


def tune(problems: str | Iterable[str], *, retune: bool = False, budget_s: float = 0.0, max_candidates: int = 0,
         scratch_bytes: int = 0, scratch_share: float = 0.0, jobs: int = 0, rounds: int = 0, seed: int = 0,
         progress: Callable[[TuneResult], Any] | None = None, device: int = -1,
         context: _context.Context | None = None) -> list[TuneResult]:
    """Measures problems on the GPU of the current CUDA context, and records the picks in the user's cache.

    Args:
      problems: their texts, as `problem` gives them: "4096 4096 512 nt bf16".
      retune: True: measure what has a current record too.
      budget_s: seconds for a problem. 0, as for the next ones: the default.
      max_candidates: kernels for a problem.
      scratch_bytes, scratch_share: the most device memory for operands, in bytes and as a part of what is free.
      jobs: compile threads.
      rounds: of the final comparison.
      seed: for data and the order of measurements.
      progress: called with each TuneResult; tuning stops if it returns False or raises.
      device: the ordinal of the GPU, if the thread has no current CUDA context.

    Returns a TuneResult for each problem; `failure` says why one has no pick. Ctrl-C ends the tuning after the problem
    that is measured; what was measured is recorded.

    Raises InvalidArgument for a text that is no problem, Interrupted if `progress` returned False, Error if the GPU cannot
    be used.
    """
    results: list[TuneResult] = []
    raised: list[BaseException] = []
    interrupt = _interrupt.Held()

    @_c.TuneProgress
    def on_result(_user: Any, result: Any) -> int:
        try:
            results.append(_result(result.contents))
            if interrupt.is_heard:
                return 0
            if progress is None:
                return 1
            with interrupt.let_through():
                return 0 if progress(results[-1]) is False else 1
        except BaseException as error:  # it cannot pass through C
            raised.append(error)
            return 0

    texts = _c.texts([problems] if isinstance(problems, (str, bytes)) else list(problems))
    options = _c.TuneOptions(retune=retune, max_candidates=max_candidates, budget_s=budget_s, scratch_bytes=scratch_bytes,
                             scratch_share=scratch_share, jobs=jobs, rounds=rounds, seed=seed, progress=on_result)
    call = _c.Call(device=device)
    with _context.in_use(context) as handle, interrupt:
        status = _c.library().tune(handle, texts, len(texts), ctypes.byref(options), ctypes.byref(call))
        if raised:
            raise raised[0]
        # The status of a problem that failed is told by its result. Ctrl-C is raised when `interrupt` ends.
        if not interrupt.is_heard and (status == _c.STATUS["INTERRUPTED"] or len(results) < len(texts)):
            raise _c.failure(status or _c.STATUS["INTERRUPTED"])
    if interrupt.is_heard and len(results) < len(texts):  # the program's handler has raised nothing
        raise Interrupted("the tuning ended after Ctrl-C")
    return results


def _result(result: _c.TuneResult) -> TuneResult:
    return TuneResult(_c.decoded(result.problem), _c.decoded(result.config), _c.decoded(result.launch),
                      _c.decoded(result.failure), result.measured, bool(result.was_recorded), result.median_us,
                      result.tflops, result.seconds)
