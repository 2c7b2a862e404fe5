"""The library's log messages, as messages of the logger "hotgemm"."""

from __future__ import annotations

import atexit
import logging
import threading

from . import _c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_LEVELS = {b"debug": logging.DEBUG, b"info": logging.INFO, b"warn": logging.WARNING, b"error": logging.ERROR}
_NAMES = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"), (logging.NOTSET, "debug"))


class _Thread(threading.local):
    is_in_sink = False


_this_thread = _Thread()


@_c.LogSink
def _sink(_user: Any, level: bytes, message: bytes) -> None:
    before, _this_thread.is_in_sink = _this_thread.is_in_sink, True
    try:
        logging.getLogger("hotgemm").log(_LEVELS[level], "%s", message.decode(errors="replace"))
    finally:
        _this_thread.is_in_sink = before


def outside_of_sink(function: Callable[..., Any], *arguments: Any) -> None:
    """Calls the function; on another thread, and later, if this one is in the sink. What ends a context waits for its threads,
    and Python may collect a context wherever it runs: in a message of one of these threads, too."""
    if not _this_thread.is_in_sink:
        function(*arguments)
    else:
        threading.Thread(target=function, args=arguments, name="hotgemm.close").start()


def install(functions: Any) -> None:
    """Messages go to Python from now on, until the interpreter ends: a thread of the library may live longer."""
    _c.check(functions.set_log_sink(_sink, None))
    atexit.register(functions.set_log_sink, _c.LogSink(), None)


def set_level(level: int | str) -> None:
    """See hotgemm.set_log_level."""
    if not isinstance(level, str):
        level = "off" if level > logging.ERROR else next((name for least, name in _NAMES if level >= least), "debug")
    _c.check(_c.library().set_log_level(_c.encoded(level)))
