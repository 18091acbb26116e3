"""The cache: where it is, that it is kept, and that a broken or forbidden one is no trap."""

import os
import sys

import pytest

from cutaway.data.cache import cache_folder, cached, recall_fingerprint, remember_fingerprint
from cutaway.data.fingerprints import fingerprint_bytes


def entry(built, key, sound=lambda folder: True):
    def build(folder):
        built.append(key)
        (folder / "value").write_text(str(key))

    return cached("things", {"key": key}, build, sound)


def test_built_once_for_each_key(cache):
    built = []
    folders = [entry(built, key) for key in (1, 2, 1, 2)]
    assert built == [1, 2]
    assert folders[0] == folders[2] != folders[1]
    assert folders[0].parent == cache / "things"
    assert (folders[1] / "value").read_text() == "2"


def test_an_unsound_entry_is_built_anew():
    built = []
    folder = entry(built, 1)
    (folder / "value").unlink()
    assert entry(built, 1, sound=lambda folder: (folder / "value").is_file()) == folder
    assert built == [1, 1]
    assert (folder / "value").read_text() == "1"


def test_a_failed_build_leaves_nothing(cache):
    def build(folder):
        (folder / "half").write_text("x")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        cached("things", {}, build, lambda folder: True)
    assert list((cache / "things").iterdir()) == []


def test_two_at_once_agree():
    built = []

    def build_slowly(folder):
        entry(built, 1)  # another process is faster
        (folder / "value").write_text("slow")

    folder = cached("things", {"key": 1}, build_slowly, lambda folder: True)
    assert (folder / "value").read_text() == "1"
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]


def test_where_it_is(monkeypatch, tmp_path):
    assert cache_folder() == type(tmp_path)(os.environ["CUTAWAY_CACHE"])
    monkeypatch.delenv("CUTAWAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "cutaway"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "cutaway"


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        ValueError, match=r"the cache folder must be one that can be written to, got .*things .*; set CUTAWAY"
    ):
        entry([], 1)
    remember_fingerprint(tmp_path, fingerprint_bytes(b"x"))  # no reason to fail
    assert recall_fingerprint(tmp_path) is None


def test_fingerprints_are_remembered(tmp_path, cache):
    found = fingerprint_bytes(b"x")
    assert recall_fingerprint(tmp_path) is None
    remember_fingerprint(tmp_path, found)
    assert recall_fingerprint(tmp_path) == found
    for record in (cache / "digests").iterdir():
        record.write_text("{")
    assert recall_fingerprint(tmp_path) is None
