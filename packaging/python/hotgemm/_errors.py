"""The exceptions of hotgemm. Each is of its own class, and of the built-in class that says most about it."""

from __future__ import annotations


class Error(Exception):
    """The base of all. `code` is the name of the status in C: "not_supported"."""

    code = "unknown"


class InvalidArgument(Error, ValueError):
    """An argument that no call may have. The message names it, and its shape or type."""

    code = "invalid_argument"


class NotSupported(Error, NotImplementedError):
    """A legal problem that no kernel computes on this GPU."""

    code = "not_supported"


class NotPrepared(Error, RuntimeError):
    """Declined: no kernel is in the cache, or none that meets what the call asks for."""

    code = "not_prepared"


class NoDriver(Error, RuntimeError):
    """libcuda cannot be loaded or initialised."""

    code = "no_driver"


class NoDevice(Error, RuntimeError):
    """No GPU, or no current CUDA context."""

    code = "no_device"


class NoCompiler(Error, RuntimeError):
    """NVRTC cannot be loaded."""

    code = "no_compiler"


class CompileFailed(Error, RuntimeError):
    """NVRTC rejected a kernel. The message holds its log."""

    code = "compile_failed"


class DriverError(Error, RuntimeError):
    """A call of the driver failed. The message names the call and its result."""

    code = "driver_error"


class OutOfMemory(Error, MemoryError):
    """Memory of the device or of the host."""

    code = "out_of_memory"


class ContextLost(Error, RuntimeError):
    """An earlier error has made the CUDA context unusable. The process must end."""

    code = "context_lost"


class WrongResult(Error, RuntimeError):
    """No candidate passed the correctness check."""

    code = "wrong_result"


class IoError(Error, OSError):
    """A required file or directory cannot be used."""

    code = "io_error"


class Forked(Error, RuntimeError):
    """Called in a child of fork(). CUDA does not survive that: start children by spawn or forkserver."""

    code = "forked"


class Interrupted(Error, RuntimeError):
    """Stopped on request."""

    code = "interrupted"


class InternalError(Error, RuntimeError):
    """A bug in hotgemm."""

    code = "internal"


_BY_CODE = {kind.code: kind for kind in Error.__subclasses__()}


def of_status(code: str, message: str) -> Error:
    error = _BY_CODE.get(code, Error)(message)
    error.code = code
    return error
