"""The lock of a run's folder: on any system, and for folders that wander."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cutaway.training.run_folder.lock import FolderLock


def test_only_one_holds_it(tmp_path: Path):
    lock = FolderLock(tmp_path)
    with pytest.raises(BlockingIOError, match=str(os.getpid())):
        FolderLock(tmp_path)
    lock.release()
    FolderLock(tmp_path).release()


def test_on_windows_a_byte_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No fcntl there; msvcrt locks a byte at the place where the file stands."""
    locked: dict[int, int] = {}

    def locking(file: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        place = os.lseek(file, 0, os.SEEK_CUR)
        assert place > 100  # beyond the number of the process, which others read
        if os.fstat(file).st_ino in locked:
            raise PermissionError(13, "Permission denied")
        locked[os.fstat(file).st_ino] = place

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    lock = FolderLock(tmp_path)
    assert len(locked) == 1
    assert (tmp_path / ".lock").read_text() == str(os.getpid())
    with pytest.raises(BlockingIOError, match=str(os.getpid())):
        FolderLock(tmp_path)
    lock.release()


def test_it_knows_where_its_folder_is(tmp_path: Path):
    (tmp_path / "old").mkdir()
    lock = FolderLock(tmp_path / "old")
    assert lock.is_in(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    assert not lock.is_in(tmp_path / "old")
    if sys.platform in ("linux", "darwin"):
        assert lock.find_folder() == tmp_path / "new"
    shutil.rmtree(tmp_path / "new")
    assert lock.find_folder() is None
    lock.release()


def test_a_folder_that_was_replaced_is_another(tmp_path: Path):
    lock = FolderLock(tmp_path)
    (tmp_path / ".lock").unlink()
    FolderLock(tmp_path).release()
    assert not lock.is_in(tmp_path)
    lock.release()
