"""Ctrl-C while a C function calls back into Python."""

from __future__ import annotations

import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Held:
    """Holds Ctrl-C back within a `with`, and raises it at the end. Python would raise KeyboardInterrupt at the beginning of a
    function that C calls, before its first line, where nobody can catch it and ctypes drops it.

    Does nothing on a thread that hears no Ctrl-C, and where the program has no handler in Python.
    """

    def __init__(self) -> None:
        self.is_heard = False
        self._before: Any = None

    def _hear(self, _number: int, _frame: Any) -> None:
        self.is_heard = True

    def __enter__(self) -> Held:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self.is_heard:
            self._before(signal.SIGINT, None)
