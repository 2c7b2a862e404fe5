"""Contexts: the caches, records, compiler and plans that products use."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import time

from . import _c, _direct, _interrupt
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Mapping

_default: ctypes.c_void_p | None = None


def default_handle() -> ctypes.c_void_p:
    """The context of the process, which is made on first use."""
    global _default
    if _default is None:
        handle = ctypes.c_void_p()
        _c.check(_c.library().context_default(handle))
        _default = handle
        _direct.use(handle)
    return _default


def handle_of(context: Context | None) -> ctypes.c_void_p:
    if context is None:
        return default_handle()
    if not isinstance(context, Context):
        raise TypeError(f"context is a {type(context).__module__}.{type(context).__qualname__}; expected a hotgemm.Context, "
                        "or None")
    return context.handle


@contextlib.contextmanager
def in_use(context: Context | None) -> Iterator[ctypes.c_void_p]:
    """The handle, for a call that runs the caller's functions: these cannot close the context."""
    handle = handle_of(context)
    if context is None:
        yield handle
        return
    context._uses += 1
    try:
        yield handle
    finally:
        context._uses -= 1


def configure(**options: Any) -> None:
    """Sets options of the default context, before its first use: `hotgemm.configure(policy="estimate")`.

    The options are those of Context. Raises InvalidArgument for an unknown name or a bad value, and if the default
    context has been made already.
    """
    array = _options(options)
    _c.check(_c.library().context_configure_default(array, len(array)))


def option_names() -> list[str]:
    """The names of all options of a Context, with a dot for options within options: "tuning.budget_s"."""
    return _c.text(_c.library().option_names).split()


class Context:
    """Caches, records, compiler and plans. One is enough for a process: it serves all threads and GPUs.

    Options are keywords, and options within options are a dict: `Context(policy="cached_only", cache_directory=path,
    tuning={"budget_s": 0.5})`. `option_names()` lists them; include/hotgemm/context.hpp and include/hotgemm/cache.hpp say what
    each does. An option that is not given, or is None, has the value of its environment variable, else its default.

    `close`, or the end of a `with`, unloads the kernels and may wait for the GPU. Raises InvalidArgument for an unknown
    name or a bad value.
    """

    def __init__(self, **options: Any) -> None:
        self._handle: ctypes.c_void_p | None = None
        self._uses = 0
        array = _options(options)
        handle = ctypes.c_void_p()
        _c.check(_c.library().context_create(array, len(array), handle))
        from . import _log  # which imports logging, and is there by now
        self._outside_of_sink = _log.outside_of_sink
        self._handle = handle

    @property
    def handle(self) -> ctypes.c_void_p:
        """The `hotgemm_context*`, for calls of the C interface."""
        if self._handle is None:
            raise InvalidArgument("the context is closed")
        return self._handle

    def close(self) -> None:
        """Unloads the kernels and frees workspace. No other thread may use the context meanwhile. Raises InvalidArgument in
        a function that tune() or prewarm() calls."""
        if self._uses > 0:
            raise InvalidArgument("the context is in use by tune() or prewarm(), and cannot be closed")
        handle, self._handle = self._handle, None
        if handle is not None:
            _c.library().context_destroy(handle)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a hotgemm.Context cannot be copied or pickled: it owns loaded kernels")

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            self._outside_of_sink(_c.library().context_destroy, handle)


def _options(options: Mapping[str, Any]) -> Any:
    pairs = [(_c.encoded(name), _c.encoded(value)) for name, value in _flattened(options)]
    return (_c.Option * len(pairs))(*(_c.Option(*pair) for pair in pairs))


def _flattened(options: Mapping[str, Any], prefix: str = "") -> Any:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, _text(prefix + name, value)


def _text(name: str, value: Any) -> str:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return ":".join(_text(name, each) for each in value)
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    raise TypeError(f"the option {name} is a {type(value).__module__}.{type(value).__qualname__}; expected a text, a number, "
                    "a path, or a list of paths")


# ---- counters ----


def stats(context: Context | None = None) -> dict[str, int | float]:
    """Counts since the context was made: "plans", "tuned", "compiled", "launches", "declined", …; and times in seconds
    that calling threads spent: "planning_s", "compiling_s", "tuning_s", "waiting_s"."""
    numbers = _c.Stats()
    _c.check(_c.library().get_stats(handle_of(context), ctypes.byref(numbers)))
    return {name: getattr(numbers, name) for name in _c.names_of(_c.Stats) if name != "size"}


def metrics(context: Context | None = None) -> str:
    """The same numbers, and those of the kernel cache, as Prometheus text."""
    return _c.text(_c.library().metrics, handle_of(context))


# ---- records ----


def reload(context: Context | None = None) -> int:
    """Reads the records of all layers again. Returns the number of plans that now have a better kernel."""
    outdated = ctypes.c_size_t()
    _c.check(_c.library().reload(handle_of(context), outdated))
    return outdated.value


def records_digest(context: Context | None = None) -> str:
    """64 hex digits: equal for processes that pick the same kernels."""
    return _c.text(_c.library().records_digest, handle_of(context))


# ---- tuning beside the program's work ----


def pause_tuning(context: Context | None = None) -> None:
    """No new measurement begins until `resume_tuning`."""
    _c.check(_c.library().pause_tuning(handle_of(context)))


def resume_tuning(context: Context | None = None) -> None:
    """Ends what `pause_tuning` began."""
    _c.check(_c.library().resume_tuning(handle_of(context)))


def cancel_tuning(context: Context | None = None) -> None:
    """Ends the tunings that go on now."""
    _c.check(_c.library().cancel_tuning(handle_of(context)))


def wait_tuned(seconds: float, context: Context | None = None) -> bool:
    """Waits, at most `seconds`, until no class waits for tuning in the background; True if that is so."""
    if math.isnan(seconds):
        raise InvalidArgument("seconds is nan; it must be a number")
    done, end = ctypes.c_int32(), time.monotonic() + seconds
    while True:  # in slices: Python hears Ctrl-C between them, and may close the context
        left = end - time.monotonic()
        _c.check(_c.library().wait_tuned(handle_of(context), max(min(left, _interrupt.LOOK_S), 0.0), done))
        if done.value or left <= _interrupt.LOOK_S:
            return bool(done.value)
