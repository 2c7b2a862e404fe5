"""Compiling ahead of time, for GPUs that are not here."""

from __future__ import annotations

import ctypes
import threading
from typing import NamedTuple

from . import _c, _context, _interrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable


class PrewarmEntry(NamedTuple):
    """The kernel that is picked for one problem on one architecture."""

    problem: str
    arch: str
    config: str
    failure: str  # why it could not be built; empty if it was
    origin: str  # "tuned", "nearest", "estimated" or "pinned"
    from_cache: bool  # it was there before
    registers: int
    spill_bytes: int


class PrewarmReport(NamedTuple):
    """What a prewarm did: numbers of distinct kernels, and an entry for each problem and architecture."""

    compiled: int
    cached: int
    stored: int  # of both: lie on disk
    entries: list[PrewarmEntry]


def prewarm(problems: str | Iterable[str], archs: str | Iterable[str], *, jobs: int = 0, candidates: bool = False,
            progress: Callable[[int, int], Any] | None = None,
            context: _context.Context | None = None) -> PrewarmReport:
    """Compiles the kernels that the policy "cached_only" needs. Needs neither a GPU nor libcuda.

    Args:
      problems: their texts: "4096 4096 512 nt bf16".
      archs: "sm_90a", or several.
      jobs: compile threads. 0: chosen for the machine.
      candidates: True: compile the kernels too that the tuner would compile.
      progress: called with the numbers of kernels that are done and of all, one call at a time, on a compile thread; it
        stops if that returns False or raises.

    Returns only if every kernel is stored on disk. Raises CompileFailed or IoError if one is not, Interrupted if
    `progress` returned False, InvalidArgument for a text that is no problem or no architecture. Ctrl-C stops it.
    """
    entries: list[PrewarmEntry] = []
    raised: list[BaseException] = []
    stopped, finished = threading.Event(), threading.Event()

    @_c.PrewarmProgress
    def on_progress(_user: Any, done: int, total: int) -> int:
        try:
            return 0 if stopped.is_set() or (progress is not None and progress(done, total) is False) else 1
        except BaseException as error:
            raised.append(error)
            return 0

    @_c.PrewarmEntryCallback
    def on_entry(_user: Any, entry: Any) -> None:
        entries.append(_entry(entry.contents))

    texts = _c.texts([problems] if isinstance(problems, (str, bytes)) else list(problems))
    names = _c.texts([archs] if isinstance(archs, (str, bytes)) else list(archs))
    options = _c.PrewarmOptions(archs=names, arch_count=len(names), jobs=jobs, candidates=candidates, progress=on_progress,
                                entry=on_entry)
    report = _c.PrewarmReport()
    failures: list[Exception] = []

    def run(handle: ctypes.c_void_p) -> None:
        try:
            status = _c.library().prewarm(handle, texts, len(texts), ctypes.byref(options), ctypes.byref(report))
            if status:
                failures.append(_c.failure(status))
        finally:
            finished.set()

    # On a thread of its own: this one could not hear Ctrl-C. It looks now and then, because NVRTC sets the handler of SIGINT
    # anew, and in a way that lets a wait go on. Thread.join would return too early after a Ctrl-C (bpo-45274).
    with _context.in_use(context) as handle:
        threading.Thread(target=run, args=(handle,), name="hotgemm.prewarm", daemon=False).start()
        try:
            while not finished.wait(_interrupt.LOOK_S):
                pass
        except BaseException:
            stopped.set()
            finished.wait()
            raise
    for error in (*raised, *failures):
        raise error
    return PrewarmReport(report.compiled, report.cached, report.stored, entries)


def _entry(entry: _c.PrewarmEntry) -> PrewarmEntry:
    return PrewarmEntry(_c.decoded(entry.problem), _c.decoded(entry.arch), _c.decoded(entry.config),
                        _c.decoded(entry.failure), _c.ORIGINS.get(entry.origin, "unknown"), bool(entry.from_cache),
                        entry.registers, entry.spill_bytes)
