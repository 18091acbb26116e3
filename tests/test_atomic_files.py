"""Files and folders are there whole or not at all, also when the writer is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cutaway.atomic_files import (
    read_json,
    remove_leftovers,
    write_bytes,
    write_json,
    write_text,
    writing,
    writing_folder,
)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_whole_files(tmp_path):
    write_bytes(tmp_path / "a", b"\x00\xff")
    write_text(tmp_path / "deep" / "b", "é\n")
    write_json(tmp_path / "c", {"x": [1, "ü"]})
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "deep" / "b").read_bytes() == b"\xc3\xa9\n"
    assert json.loads((tmp_path / "c").read_text(encoding="utf-8")) == {"x": [1, "ü"]}
    assert names(tmp_path) == ["a", "c", "deep"]


def test_nan_is_no_json(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "c", {"x": float("nan")})
    assert names(tmp_path) == []


def test_new_files_have_the_usual_permissions(tmp_path):
    write_text(tmp_path / "ours", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def stop_in(manager, work):
    with manager as new:
        work(new)
        raise RuntimeError("stop")


def test_the_old_stays_until_the_new_is_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def work(file):
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    with pytest.raises(RuntimeError, match="stop"):
        stop_in(writing(path), work)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("existing", ["replace", "keep"])
def test_folders(tmp_path, existing):
    path = tmp_path / "step"
    for turn in ("first", "second"):
        with writing_folder(path, existing) as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / turn).write_text("x")
            assert not path.exists() or names(path / "inner") == ["first"]
    assert names(path / "inner") == ["second" if existing == "replace" else "first"]
    assert names(tmp_path) == ["step"]


def test_a_folder_that_fails_leaves_the_old(tmp_path):
    path = tmp_path / "step"
    path.mkdir()
    (path / "old").write_text("x")
    with pytest.raises(RuntimeError, match="stop"):
        stop_in(writing_folder(path), lambda folder: (folder / "new").write_text("x"))
    assert names(path) == ["old"]
    assert names(tmp_path) == ["step"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("what", ["writing", "writing_folder"])
def test_killed_while_writing(tmp_path, what):
    path = tmp_path / "a"
    code = f"""
        import os, signal, sys
        from cutaway import atomic_files
        with atomic_files.{what}(sys.argv[1]) as new:
            if isinstance(new, os.PathLike):
                (new / "file").write_text("half")
            else:
                new.write(b"half"); new.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not path.exists()
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    assert remove_leftovers(tmp_path, older=3600) == []  # someone may still be writing
    hours_ago = time.time() - 7200
    for each in (left, *left.rglob("*")):
        os.utime(each, (hours_ago, hours_ago))
    assert remove_leftovers(tmp_path, older=3600) == [left]
    assert names(tmp_path) == []


def test_a_growing_file_keeps_its_unfinished_folder(tmp_path):
    part = tmp_path / ".step.0000.part"
    part.mkdir()
    (part / "file").write_text("x")
    os.utime(part, (0, 0))  # the folder is old, the file in it is new
    assert remove_leftovers(tmp_path, older=3600) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{oops", r"expecting property name enclosed in double quotes in line 1"),
        (b"", "expecting value in line 1"),
        (b'{"a":\xff}', "byte 0xff at position 5 is not UTF-8"),
        (b"[" * 200_000, "it is nested too deep"),
        (b"[]", "it has no 'version'"),
        (b"{}", "it has no 'version'"),
    ],
)
def test_damaged_json_names_its_file(content: bytes, told: str, tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    rule = re.escape(f"config.json must be JSON as it was written, got {file} ({told}); take it from a copy")
    with pytest.raises(ValueError, match=f"^{rule}$"):
        read_json(file, "version")


def test_missing_json_names_its_file(tmp_path: Path):
    with pytest.raises(ValueError, match=re.escape(f"config.json must be there, got {tmp_path} without it")):
        read_json(tmp_path / "config.json")


def test_json_comes_back(tmp_path: Path):
    write_json(tmp_path / "a.json", {"version": 1, "ä": [None]})
    assert read_json(tmp_path / "a.json", "version") == {"version": 1, "ä": [None]}
