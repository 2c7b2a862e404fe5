"""The library's log messages, as messages of the logger "hotgemm"."""

from __future__ import annotations

import atexit
import logging

from . import _c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LEVELS = {b"debug": logging.DEBUG, b"info": logging.INFO, b"warn": logging.WARNING, b"error": logging.ERROR}
_NAMES = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"), (logging.NOTSET, "debug"))


@_c.LogSink
def _sink(_user: Any, level: bytes, message: bytes) -> None:
    logging.getLogger("hotgemm").log(_LEVELS[level], "%s", message.decode(errors="replace"))


def install(functions: Any) -> None:
    """Messages go to Python from now on, until the interpreter ends: a thread of the library may live longer."""
    _c.check(functions.set_log_sink(_sink, None))
    atexit.register(functions.set_log_sink, _c.LogSink(), None)


def set_level(level: int | str) -> None:
    """See hotgemm.set_log_level."""
    if not isinstance(level, str):
        level = "off" if level > logging.ERROR else next(name for least, name in _NAMES if level >= least)
    _c.check(_c.library().set_log_level(level.encode()))
