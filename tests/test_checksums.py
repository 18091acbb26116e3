"""Checksums: what changed after it was written is found."""

import json
import zlib
from pathlib import Path

import pytest

from cutaway.checksums import FILE, crc32_of, find_damage, write_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 9000)  # more than is read at once
    (tmp_path / "inner" / "b.txt").write_text("hello")
    write_checksums(tmp_path)
    return tmp_path


def test_the_checksum_is_that_of_zlib(folder: Path):
    assert crc32_of(folder / "a.bin") == f"{zlib.crc32((folder / 'a.bin').read_bytes()):08x}"
    listed = json.loads((folder / FILE).read_text())
    assert listed["inner/b.txt"] == {"bytes": 5, "crc32": "3610a686"}


def test_what_is_as_it_was_is_sound(folder: Path):
    assert find_damage(folder) == ""
    (folder / "new").write_text("what came later is not vouched for")
    assert find_damage(folder) == ""


@pytest.mark.parametrize("place", [0, 1 << 20, -1])
@pytest.mark.parametrize("bit", [0, 7])
def test_a_flipped_bit_is_found(place: int, bit: int, folder: Path):
    content = bytearray((folder / "a.bin").read_bytes())
    content[place] ^= 1 << bit
    (folder / "a.bin").write_bytes(content)
    assert find_damage(folder) == "a.bin has another checksum than when it was written"


def test_what_is_missing_or_cut_is_found(folder: Path):
    (folder / "inner" / "b.txt").write_text("hell")
    assert find_damage(folder) == "inner/b.txt has 4 bytes where 5 were written"
    (folder / "inner" / "b.txt").unlink()
    assert find_damage(folder) == "inner/b.txt is missing"


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b'{"a.bin": 3}', b'{"a.bin": {}}'])
def test_a_damaged_list_is_damage(content: bytes, folder: Path):
    (folder / FILE).write_bytes(content)
    assert find_damage(folder) == "checksums.json does not read"


def test_a_missing_list_is_damage(folder: Path):
    (folder / FILE).unlink()
    assert find_damage(folder) == "checksums.json is missing"
