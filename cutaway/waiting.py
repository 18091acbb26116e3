r"""Work that takes long says so: nothing goes on in silence for more than two seconds.

    with telling_waits("reading wide.csv"): ...          reading wide.csv: 2 s so far

Lines go to standard error, the first after 1.5 seconds, each after twice the pause of the one before, up to 20 seconds.
Parts of the work name themselves, and say how far they are, where a part of them is counted:

    with doing("fitting the head"): ...                  fitting the head: 3 s so far
    for row in counted(rows, "reading the walks"): ...   reading the walks: 40 %, 5 s so far
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from cutaway.overriding import override

T = TypeVar("T")
FIRST = 1.5  # seconds until something is said
_LONGEST = 20.0


@dataclass
class _Part:
    what: str
    began: float = field(default_factory=time.monotonic)
    share: float | None = None  # of the part that is done, where it is counted

    @override
    def __str__(self) -> str:
        share = "" if self.share is None else f"{self.share:.0%}, "
        return f"{self.what}: {share}{time.monotonic() - self.began:.0f} s so far"


_told: ContextVar[list[_Part] | None] = ContextVar("told", default=None)  # the work, its part, the part's part …


@contextmanager
def telling_waits(what: str, shown: bool = True) -> Iterator[None]:
    """Says what goes on in the block, and for how long, if it takes more than a moment; nothing unless ``shown``."""
    if not shown or _told.get() is not None:  # whoever tells already tells of this part, too
        with doing(what):
            yield
        return
    parts, done = [_Part(what)], threading.Event()
    token = _told.set(parts)
    teller = threading.Thread(target=_tell, args=(parts, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        _told.reset(token)


def _tell(parts: list[_Part], done: threading.Event) -> None:
    pause = FIRST
    while not done.wait(pause):
        with suppress(OSError, ValueError):  # no one reads it any more
            print(parts[-1], file=sys.stderr, flush=True)
        pause = min(2 * pause, _LONGEST)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Names a part of the work that is told; nothing where none is."""
    with _part(what):
        yield


def counted(rows: Iterable[T], what: str, count: int | None = None) -> Iterator[T]:
    """Rows of work, told as a part with the share that is done; ``count`` is for rows that have no length."""
    total = max(1, len(rows) if count is None and isinstance(rows, Sized) else count or 1)
    with _part(what) as part:
        for done, row in enumerate(rows):
            part.share = done / total
            yield row


@contextmanager
def _part(what: str) -> Iterator[_Part]:
    parts, part = _told.get(), _Part(what)
    if parts is not None:
        parts.append(part)
    try:
        yield part
    finally:
        if parts is not None:
            parts.remove(part)


__all__ = ["counted", "doing", "telling_waits"]
