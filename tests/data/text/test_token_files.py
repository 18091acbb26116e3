"""Tokens from memory, from a small mapped file and from a large one that is read: the same windows."""

import numpy as np
import pytest

import cutaway.data.text.token_files as ours
from cutaway.data.text.token_files import Tokens, token_type


def test_types():
    assert token_type(65_536) == np.uint16
    assert token_type(65_537) == np.uint32


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("resident", [1 << 20, 0], ids=["mapped", "read"])
def test_windows(tmp_path, monkeypatch, dtype, resident):
    monkeypatch.setattr(ours, "_RESIDENT", resident)
    ids = np.random.default_rng(0).integers(0, 60_000, 1009).astype(dtype)
    (tmp_path / "t.bin").write_bytes(ids.tobytes())
    tokens = Tokens.from_file(tmp_path / "t.bin", np.dtype(dtype))
    starts = np.array([0, 500, 1009 - 13, 7])
    expected = np.stack([ids[s : s + 13] for s in starts]).astype(np.int64)
    for found in (tokens.windows(starts, 13), Tokens(ids).windows(starts, 13)):
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)
    assert len(tokens) == 1009
    assert np.array_equal(tokens[5:9], ids[5:9])
    with pytest.raises(ValueError, match="read-only"):
        tokens[5:9][0] = 1


def test_empty_file(tmp_path):
    (tmp_path / "t.bin").write_bytes(b"")
    assert len(Tokens.from_file(tmp_path / "t.bin", np.dtype(np.uint16))) == 0


def test_the_file_is_closed_when_the_tokens_go(tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "_RESIDENT", 0)
    (tmp_path / "t.bin").write_bytes(bytes(10))
    closed = []
    monkeypatch.setattr(ours.os, "close", closed.append)
    tokens = Tokens.from_file(tmp_path / "t.bin", np.dtype(np.uint16))
    file = tokens._file
    assert closed == []
    del tokens
    assert closed == [file]
