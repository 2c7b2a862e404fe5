"""Ctrl-C while a C function runs."""

from __future__ import annotations

import contextlib
import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

LOOK_S = 0.2  # Python hears Ctrl-C when it looks, so a wait in C is divided


class Held:
    """Holds Ctrl-C back within a `with`, and hands it to the program's handler at the end. Python would raise KeyboardInterrupt
    at the beginning of a function that C calls, before its first line, where nobody can catch it and ctypes drops it.

    Does nothing on a thread that hears no Ctrl-C, and where the program has no handler in Python.
    """

    def __init__(self) -> None:
        self.is_heard = False
        self._program: Any = None

    def _hear(self, _number: int, _frame: Any) -> None:
        self.is_heard = True

    def __enter__(self) -> Held:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._program = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._program is None:
            return
        signal.signal(signal.SIGINT, self._program)
        if self.is_heard and callable(self._program):
            self._program(signal.SIGINT, None)

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """The program's own handler holds within this `with`, and so does one that is set there."""
        if self._program is None:
            yield
            return
        signal.signal(signal.SIGINT, self._program)
        try:
            yield
        finally:
            self._program = signal.signal(signal.SIGINT, self._hear)
