"""Digests against sha256sum's rule, and when files are taken for the same without reading them."""

import hashlib
import json
import os
import time

import pytest

from cutaway.data.fingerprints import (
    Fingerprint,
    digest_file,
    expect_same_data,
    fingerprint_bytes,
    fingerprint_files,
    refresh,
    stamp,
)


def old(path, seconds=3600.0):
    """As if written an hour ago."""
    when = time.time() - seconds
    os.utime(path, (when, when))
    return path


def test_of_a_file_and_of_memory(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc" * 1_000_000)
    expected = hashlib.sha256(b"abc" * 1_000_000).hexdigest()
    assert digest_file(path) == expected
    assert fingerprint_files({"a.txt": path}).digest == expected
    assert fingerprint_bytes(b"abc" * 1_000_000).digest == expected
    assert fingerprint_files({"a.txt": path}).size == 3_000_000


def test_of_a_folder_is_that_of_its_listing(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    lines = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a", "b"))
    found = fingerprint_files({name: tmp_path / name for name in ("a", "b")})
    assert found.digest == hashlib.sha256(lines.encode()).hexdigest()
    # the name counts: the same contents the other way round are other data
    assert found.digest != fingerprint_files({"b": tmp_path / "a", "a": tmp_path / "b"}).digest


def test_through_json(tmp_path):
    (tmp_path / "a").write_text("x")
    found = fingerprint_files({"a": tmp_path / "a"})
    assert Fingerprint.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_same_size_and_time_is_not_read_again(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    files = {"a": old(tmp_path / "a")}
    first = refresh(None, files)
    monkeypatch.setattr("cutaway.data.fingerprints.digest_file", lambda path: pytest.fail("was read"))
    assert refresh(first, files) is first


def test_another_time_is_read_again_and_found_the_same(tmp_path):
    path = tmp_path / "a"
    path.write_text("x")
    first = refresh(None, {"a": old(path)})
    now = refresh(first, {"a": old(path, 1800)})
    assert now.digest == first.digest
    assert now.files != first.files


def test_a_change_too_fast_for_the_clock_is_seen(tmp_path):
    # same size, same time, other content: possible only right after the digest was taken, when it is not trusted
    path = tmp_path / "a"
    path.write_text("x")
    first = refresh(None, {"a": path})
    before = path.stat().st_mtime_ns
    path.write_text("y")
    os.utime(path, ns=(before, before))
    assert stamp("a", path) == first.files[0]
    assert refresh(first, {"a": path}).digest != first.digest


def test_changed_data_stops_a_resume():
    with pytest.raises(ValueError, match=r"must have the data that it began with, got my.txt of 4 bytes with digest "):
        expect_same_data(fingerprint_bytes(b"abc"), fingerprint_bytes(b"abcd"), "my.txt")
    digest = hashlib.sha256(b"abc").hexdigest()[:12]
    with pytest.raises(ValueError, match=f"where the run has 3 bytes with digest {digest}; bring back the old data or"):
        expect_same_data(fingerprint_bytes(b"abc"), fingerprint_bytes(b"abcd"), "my.txt")
    expect_same_data(fingerprint_bytes(b"abc"), fingerprint_bytes(b"abc"), "my.txt")


@pytest.mark.parametrize("name", ["digest", "size", "files", "taken"])
@pytest.mark.parametrize("value", [None, "x", 1.5, [1], {"a": []}, [[[]]], True])
def test_a_damaged_fingerprint_is_told(name: str, value: object):
    sound = Fingerprint("ab", 1).to_dict()
    if name == "digest" and value == "x":
        return
    for damaged in (sound | {name: value}, {k: v for k, v in sound.items() if k != name}, value):
        with pytest.raises(ValueError, match=r"fingerprint of data must be as it was written, .*; take config"):
            Fingerprint.from_dict(damaged)
