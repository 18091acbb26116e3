r"""A lock lets one process at a time write to a run's folder, on any system, and tells whether the folder was moved.

The lock is on an open file, `.lock`, so the system lets go of it when the process ends, however it ends. The file holds
the number of the process, for the message to the next one.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

_WINDOWS_BYTE = 1 << 30  # Windows locks bytes, not files, and locked ones cannot be read: one after the number


class FolderLock:
    """A lock from its making to `release`; if another process has it, BlockingIOError with that process's number."""

    def __init__(self, folder: Path) -> None:
        self.file = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self.file)
        except BlockingIOError:
            holder = os.read(self.file, 20).decode(errors="replace") or "another"
            os.close(self.file)
            raise BlockingIOError(holder) from None
        os.ftruncate(self.file, 0)
        os.write(self.file, str(os.getpid()).encode())

    def release(self) -> None:
        os.close(self.file)

    def is_in(self, folder: Path) -> bool:
        """Whether the locked file is the one in this folder: not if the folder was deleted, moved or replaced."""
        try:
            there = os.stat(folder / ".lock")
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self.file))

    def find_folder(self) -> Path | None:
        """Where the folder is now, if it still is on this disk and the system can tell."""
        try:
            found = Path(_path_of(self.file)).parent
        except (OSError, ImportError, AttributeError):
            return None
        return found if self.is_in(found) else None


def _path_of(file: int) -> str:
    if os.path.isdir("/proc/self/fd"):
        return os.readlink(f"/proc/self/fd/{file}")
    fcntl: Any = import_module("fcntl")
    return fcntl.fcntl(file, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()  # macOS


def _lock(file: int) -> None:
    try:
        fcntl: Any = import_module("fcntl")
    except ImportError:
        _lock_on_windows(file)
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # some network folders have no locks
        return


def _lock_on_windows(file: int) -> None:
    msvcrt: Any = import_module("msvcrt")
    os.lseek(file, _WINDOWS_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        raise BlockingIOError(str(error)) from None
    finally:
        os.lseek(file, 0, os.SEEK_SET)
