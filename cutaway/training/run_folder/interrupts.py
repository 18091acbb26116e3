r"""Ctrl-C (SIGINT) and kill (SIGTERM) stop a run once its current step is done and saved."""

import signal
import sys
import threading
from types import FrameType
from typing import Any


class Stopped(KeyboardInterrupt):
    """A run that was asked to stop, and did, after a checkpoint. ``code`` is what a command line should exit with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class StopSignals:
    """While open, the first SIGINT or SIGTERM is only noted, in ``received``; a second one acts at once.

    Signals belong to the main thread: opened in another one, it notes none. With ``announce`` it prints that one came.
    """

    def __init__(self, announce: bool = True) -> None:
        self.received: int | None = None
        self._announce = announce
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):  # nohup and the like asked not to be disturbed
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            self.__exit__()
            raise KeyboardInterrupt
        self.received = number
        if self._announce:
            print("\nstopping after this step (once more to stop at once)", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
