r"""Memory that one step frees is kept for the next step, instead of being given back to the system.

A step of training frees all its values and the next one asks for as much again. The C library of Linux (glibc) hands
large freed blocks back to the system at once; asked for anew, each of their pages costs a page fault. A small net on a
CPU can spend a third of its time on that. While a training runs, freed memory is therefore kept; afterwards it is given
back. Other C libraries and systems are left alone, and so is a process whose user set MALLOC_TRIM_THRESHOLD_.
Source: mallopt(3), Linux manual pages.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Numbers of the settings, from glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 32 << 20  # of blocks that are kept: glibc allows no more
_KEPT = 2**31 - 1  # bytes of free memory that are kept: no limit
_USUAL = 64 << 20  # kept after a training


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Freed memory stays with the process while this is open."""
    library = None if "MALLOC_TRIM_THRESHOLD_" in os.environ else _glibc()
    if library is None:
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, _LARGEST)
    library.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, _USUAL)
        library.malloc_trim(0)


def _glibc() -> Any:
    """The C library of this process, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None
