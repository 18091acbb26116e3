r"""Says what goes on before the first step of a run, where that takes longer than a moment: a fit, a baseline."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer

from cutaway.training.progress import tell
from cutaway.training.run_folder.folder import json_line

_MOMENT = 1.0  # seconds that may pass in silence
_shown: ContextVar[str] = ContextVar("shown", default="quiet")


@contextmanager
def showing(show: str) -> Iterator[None]:
    """Preparations inside are shown in the way that the run is: auto, bar, lines, json or quiet."""
    token = _shown.set(show)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def preparing(what: str) -> Iterator[None]:
    """Prints ``what`` if the work inside takes longer than a moment."""
    show = _shown.get()
    if show == "quiet":
        yield
        return
    timer = Timer(_MOMENT, _tell, (what, show))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(what: str, show: str) -> None:
    if show == "json":
        tell(json_line({"event": "note", "text": what}))
    elif show == "bar" or (show == "auto" and sys.stderr.isatty()):
        print(f"{what} …", file=sys.stderr, flush=True)
    else:
        tell(f"{what} …")


__all__ = ["preparing", "showing"]
