r"""Work that takes long says so: nothing goes on in silence for more than two seconds.

    with telling_waits("reading wide.csv"): ...          reading wide.csv: 2 s so far

Lines go to standard error, the first after 1.5 seconds, each after twice the pause of the one before, up to 20 seconds.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FIRST = 1.5  # seconds until something is said
_LONGEST = 20.0


@contextmanager
def telling_waits(what: str, shown: bool = True) -> Iterator[None]:
    """Says what goes on in the block, and for how long, if it takes more than a moment; nothing unless ``shown``."""
    if not shown:
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    began, pause = time.monotonic(), FIRST
    while not done.wait(pause):
        with suppress(OSError, ValueError):  # no one reads it any more
            print(f"{what}: {time.monotonic() - began:.0f} s so far", file=sys.stderr, flush=True)
        pause = min(2 * pause, _LONGEST)


__all__ = ["telling_waits"]
