"""hotgemm: matrix multiplication kernels for NVIDIA GPUs, rendered, compiled and tuned at run time.

    c = hotgemm.matmul(a, b)                                    # tensors of PyTorch, or arrays of CuPy
    hotgemm.matmul(a, b, out=c, bias=bias, activation="gelu")

To import it opens no library: libhotgemm.so is opened by the first call, and libcuda and NVRTC when they are needed.
Messages go to the logger "hotgemm".
"""

from __future__ import annotations

from ._bench import bench
from ._context import (Context, cancel_tuning, configure, metrics, option_names, pause_tuning, records_digest, reload,
                       resume_tuning, stats, wait_tuned)
from ._errors import (CompileFailed, ContextLost, DriverError, Error, Forked, InternalError, Interrupted,
                      InvalidArgument, IoError, NoCompiler, NoDevice, NoDriver, NotPrepared, NotSupported, OutOfMemory,
                      WrongResult)
from ._matmul import matmul, problem
from ._plan import Plan, plan
from ._prewarm import PrewarmEntry, PrewarmReport, prewarm
from ._tune import TuneResult, tune

__all__ = ["CompileFailed", "Context", "ContextLost", "DriverError", "Error", "Forked", "InternalError", "Interrupted",
           "InvalidArgument", "IoError", "NoCompiler", "NoDevice", "NoDriver", "NotPrepared", "NotSupported",
           "OutOfMemory", "Plan", "PrewarmEntry", "PrewarmReport", "TuneResult", "WrongResult", "bench", "cancel_tuning",
           "configure", "matmul", "metrics", "option_names", "pause_tuning", "plan", "prewarm", "problem",
           "records_digest", "reload", "resume_tuning", "set_log_level", "stats", "tune", "version", "wait_tuned"]


def set_log_level(level: int | str) -> None:
    """Sets the lowest level of messages that the library makes: a level of `logging`, or "debug", "info", "warn",
    "error", "off". It is "warn" at first, or the value of HOTGEMM_LOG. The logger "hotgemm" gets no others.

    Raises InvalidArgument for another word.
    """
    from . import _log
    _log.set_level(level)


def version() -> str:
    """The version of the library that runs: "0.1.0"."""
    from . import _c
    return _c.decoded(_c.library().version())


def __getattr__(name: str) -> str:
    if name == "__version__":  # of the library, which is not opened by the import
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
