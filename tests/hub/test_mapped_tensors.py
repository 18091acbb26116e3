"""Tensors in files: mapped without a copy, read where they must be joined, checked for broken numbers."""

import json

import pytest
import torch
from safetensors.torch import save_file

from cutaway.hub.checkpoint_files import INDEX, SINGLE
from cutaway.hub.mapped_tensors import Tensors, all_finite, modern_name


def test_names_of_old_norms():
    assert modern_name("bert.embeddings.LayerNorm.gamma") == "bert.embeddings.LayerNorm.weight"
    assert modern_name("encoder.LayerNorm.beta") == "encoder.LayerNorm.bias"
    assert modern_name("h.0.gamma") == "h.0.gamma"


def test_shards_are_read_by_what_is_in_them(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "one.safetensors")
    save_file({"b": torch.zeros(3, 5)}, tmp_path / "two.safetensors")
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    tensors = Tensors(tmp_path)
    assert {name: at.shape for name, at in tensors.stored.items()} == {"a": (2,), "b": (3, 5)}
    assert torch.equal(tensors["b"], torch.zeros(3, 5))


@pytest.mark.parametrize("kept", [0, 4, 40, -1])
def test_truncated_files(kept: int, tmp_path):
    save_file({"a": torch.randn(50)}, tmp_path / SINGLE)
    whole = (tmp_path / SINGLE).read_bytes()
    (tmp_path / SINGLE).write_bytes(whole[:kept])
    size = len(whole[:kept])
    with pytest.raises(
        ValueError, match=rf"must be a whole safetensors file, got {size} bytes .*; it may be cut short"
    ):
        Tensors(tmp_path)


def inside(x: torch.Tensor, whole: torch.UntypedStorage) -> bool:
    """Whether a tensor's memory is part of a storage."""
    return whole.data_ptr() <= x.data_ptr() < whole.data_ptr() + whole.nbytes()


def test_nothing_is_copied(tmp_path):
    """a and b lie one behind the other in the file, c elsewhere."""
    parts = {"a": torch.randn(2, 3), "b": torch.randn(4, 3), "c": torch.randn(5, 3)}
    save_file(parts, tmp_path / SINGLE)
    tensors = Tensors(tmp_path)
    (mapped,) = tensors._mapped.values()
    for names, is_mapped in ((("a",), True), (("a", "b"), True), (("b", "a"), False), (("a", "c"), False)):
        found = tensors.take(names)
        assert torch.equal(found, torch.cat([parts[name] for name in names]))
        assert inside(found, mapped) == is_mapped, names
    assert torch.equal(tensors["c"], parts["c"])


def test_changing_a_mapped_tensor_leaves_the_file(tmp_path):
    save_file({"a": torch.zeros(3)}, tmp_path / SINGLE)
    before = (tmp_path / SINGLE).read_bytes()
    tensors = Tensors(tmp_path)
    tensors["a"].add_(1.0)
    assert tensors["a"].tolist() == [1.0, 1.0, 1.0], "both are the same memory"
    assert (tmp_path / SINGLE).read_bytes() == before
    assert Tensors(tmp_path)["a"].tolist() == [0.0, 0.0, 0.0]


def test_tensors_that_are_not_aligned(tmp_path):
    """A header of any length is allowed; numbers at odd addresses are read, not mapped."""
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    header += b" " * ((3 - len(header)) % 8)
    numbers = torch.tensor([1.5, -2.0]).numpy().tobytes()
    (tmp_path / SINGLE).write_bytes(len(header).to_bytes(8, "little") + header + numbers)
    tensors = Tensors(tmp_path)
    assert tensors.stored["a"].start % 4
    assert tensors["a"].tolist() == [1.5, -2.0]


def test_parts_of_different_kinds_become_the_wider(tmp_path):
    save_file({"a": torch.ones(2).half(), "b": torch.full((1,), 2.0).bfloat16()}, tmp_path / SINGLE)
    joined = Tensors(tmp_path).take(("a", "b"))
    assert joined.dtype == torch.float32
    assert joined.tolist() == [1.0, 1.0, 2.0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_broken_numbers_are_found_wherever_they_are(bad: float, dtype: torch.dtype, tmp_path, monkeypatch):
    monkeypatch.setattr("cutaway.hub.mapped_tensors._BLOCK", 64)
    whole = torch.randn(7, 11, dtype=dtype)
    first, last = whole.clone(), whole.clone()
    first[0, 0], last[-1, -1] = bad, bad
    named = {"whole": whole, "first": first, "last": last, "empty": whole[:0].clone()}
    save_file(named, tmp_path / SINGLE)
    tensors = Tensors(tmp_path)
    assert {name: tensors.is_finite(name) for name in named} == {
        "whole": True,
        "first": False,
        "last": False,
        "empty": True,
    }


def test_large_numbers_are_finite():
    """Their squares are not."""
    assert all_finite(torch.full((5,), 1e30))
    assert not all_finite(torch.tensor([1.0, torch.inf]))
