"""Files of tensors that carry their own checksum."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from cutaway.training.run_folder.weights import (
    find_misfit,
    find_weights_damage,
    is_whole,
    read_tensors,
    write_plain,
    write_tensors,
)

TENSORS = {
    "b": torch.arange(7.0),
    "a": torch.ones(2, 3, dtype=torch.float16),
    "crc32": torch.zeros(1, dtype=torch.int64),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_tensors(tmp_path / "w.safetensors", TENSORS)
    return tmp_path / "w.safetensors"


def test_other_programs_read_it(path: Path):
    loaded = load_file(path)
    assert loaded.keys() == TENSORS.keys()
    assert all(torch.equal(loaded[name], TENSORS[name]) for name in TENSORS)
    with safe_open(path, "pt") as file:
        assert file.metadata()["format"] == "pt"
        assert len(file.metadata()["crc32"]) == 8
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0


def test_equal_tensors_are_equal_files(path: Path, tmp_path: Path):
    for i in range(5):
        write_tensors(tmp_path / f"{i}.safetensors", TENSORS)
        assert (tmp_path / f"{i}.safetensors").read_bytes() == path.read_bytes()


def test_all_kinds_of_numbers_tied_turned_and_empty_tensors(tmp_path: Path):
    base = torch.arange(12.0).view(3, 4)
    kinds = (torch.float64, torch.bfloat16, torch.complex64, torch.int8, torch.uint16, torch.bool)
    given = {f"k{i}": torch.ones(i + 1, dtype=kind) for i, kind in enumerate(kinds)}
    given |= {"base": base, "tied": base, "turned": base.T, "none": torch.empty(0, 3), "ä": torch.tensor(2.0)}
    write_tensors(tmp_path / "a.safetensors", given, {"what": '{"é": 1}', "crc": "00000000"})
    write_plain(tmp_path / "b.safetensors", given)
    for name in ("a", "b"):
        loaded = load_file(tmp_path / f"{name}.safetensors")
        assert loaded.keys() == given.keys()
        assert all(torch.equal(loaded[key], given[key]) for key in given)
    assert find_weights_damage(tmp_path / "a.safetensors") == ""
    with safe_open(tmp_path / "a.safetensors", "pt") as file:
        assert file.metadata()["what"] == '{"é": 1}'


def test_every_flipped_byte_is_found_or_changes_no_tensor(path: Path):
    """The key of the checksum itself may be hit: then the tensors are what they were."""
    whole = path.read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        try:
            loaded = read_tensors(path)
        except ValueError as error:
            assert "which was damaged after it was written" in str(error)  # noqa: PT017
        else:
            assert all(torch.equal(loaded[name], TENSORS[name]) for name in TENSORS), place


def test_what_is_cut_is_not_whole(path: Path):
    whole = path.read_bytes()
    assert is_whole(path)
    for length in (0, 5, 50, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not is_whole(path)
        assert find_weights_damage(path)
    path.write_bytes(whole + b"0")
    assert not is_whole(path)
    path.unlink()
    assert not is_whole(path)


def test_a_file_without_a_checksum_is_read(path: Path):
    """Those of runs made before, and of other programs."""
    save_file(TENSORS, path, metadata={"format": "pt"})
    assert find_weights_damage(path) == ""
    assert read_tensors(path).keys() == TENSORS.keys()
    save_file(TENSORS, path)
    assert find_weights_damage(path) == ""


def test_a_header_that_is_no_table_is_damage(path: Path):
    for header in ([1], {"a": 3}, {"a": {"data_offsets": []}}, {"a": {"data_offsets": ["x", "y"]}}, "x"):
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        assert find_weights_damage(path) == "its header does not read"


def test_misfits_are_named():
    own = {"a": torch.ones(2), "b": torch.ones(3)}
    assert find_misfit(own, own) == ""
    assert find_misfit({"a": torch.ones(2)}, own) == "b of shape none where the model has (3,)"
    assert find_misfit({**own, "c": torch.ones(1)}, own) == "c of shape (1,) where the model has none"
    assert find_misfit({**own, "b": torch.ones(4)}, own) == "b of shape (4,) where the model has (3,)"
