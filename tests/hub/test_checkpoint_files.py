"""Folders: found or fetched, whole or not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import cutaway as cut
from cutaway.hub.checkpoint_files import INDEX, SINGLE, locate, read_config, tensor_files


def test_a_folder_is_itself(tmp_path, monkeypatch):
    assert locate(tmp_path) == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    assert locate(f"~/{tmp_path.name}") == tmp_path


def test_a_hub_id_is_fetched(tmp_path, monkeypatch):
    asked = {}

    def fetch(name: str, allow_patterns: list[str]) -> str:
        asked.update(name=name, patterns=allow_patterns)
        return str(tmp_path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert locate("someone/small-model") == tmp_path
    assert asked["name"] == "someone/small-model"
    assert not any(".bin" in pattern for pattern in asked["patterns"]), "no pickles"


def test_a_hub_id_that_cannot_be_fetched(tmp_path, monkeypatch):
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fail(*_: object, **__: object) -> str:
        raise LocalEntryNotFoundError("the network is down\nand more")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(ValueError, match=r"hub id that can be fetched, got 'no/such' \(the network is down\); check"):
        locate("no/such")


@pytest.mark.parametrize("name", ["./here", "/no/where/at/all", "a/b/c", ""])
def test_a_path_that_is_not_there_is_never_fetched(name: str, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: pytest.fail("asked the hub"))
    if name == "":
        assert locate(name) == Path(), "the folder that one is in"
        return
    with pytest.raises(ValueError, match=r"folder or a hub id like 'gpt2', got .*, which is not there"):
        locate(name)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"a checkpoint is a folder with config.json, got the file .*safetensors; pass its"
    ):
        locate(tmp_path / "model.safetensors")


def test_configurations_that_are_none(tmp_path):
    with pytest.raises(ValueError, match=r"must hold config.json, got .* without one; is it the right folder"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{half")
    with pytest.raises(
        ValueError, match=r"config.json must be JSON, got .* \(Expecting property name.*\); download it"
    ):
        read_config(tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"config.json must be JSON, got .*codec.*; download it"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match=r"config.json must hold a JSON object, got a list"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text('{"a": ' + "[" * 200_000)
    with pytest.raises(ValueError, match=r"config.json must be JSON, got .*nested too deep"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text('{"recipe": "gpt"}')
    with pytest.raises(
        ValueError, match=r"in the Hugging Face layout, got .*, a run of Cutaway, which needs no import; .* cut.load"
    ):
        read_config(tmp_path)


def test_one_file_goes_before_shards(tmp_path):
    """As in transformers: shards may be left over from an earlier save."""
    save_file({"a": torch.ones(2)}, tmp_path / SINGLE)
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    assert tensor_files(tmp_path) == [tmp_path / SINGLE]


@pytest.mark.parametrize("name", ["two.safetensors", "../two.safetensors"])
def test_shards_that_are_not_there(name: str, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    if name.startswith(".."):  # nothing outside of the folder is read
        save_file({"b": torch.ones(2)}, tmp_path / "two.safetensors")
    save_file({"a": torch.ones(2)}, folder / "one.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": name}}))
    with pytest.raises(ValueError, match=rf"every shard named in {INDEX} must be in the folder, got none of {name};"):
        tensor_files(folder)


@pytest.mark.parametrize("index", [{"weight_map": []}, {}, {"weight_map": {}}])
def test_an_index_of_nothing(index: dict, tmp_path):
    (tmp_path / INDEX).write_text(json.dumps(index))
    with pytest.raises(ValueError, match="got none of them; download"):
        tensor_files(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "pytorch_model-00001-of-00002.bin"])
def test_pickles_are_refused_with_a_way_out(name: str, tmp_path):
    (tmp_path / name).write_bytes(b"\x80\x04")
    with pytest.raises(
        ValueError, match=rf"must be safetensors, got the pickle {name}, .*model.save_pretrained\(folder\)"
    ):
        tensor_files(tmp_path)


def test_no_tensors_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"must hold model.safetensors, got .* without one; is it the right folder"):
        tensor_files(tmp_path)


@pytest.mark.untyped
@pytest.mark.parametrize("source", [None, 3, b"gpt2", ["gpt2"]])
def test_a_checkpoint_is_a_path_or_an_id(source: Any):
    message = re.escape(f"a checkpoint must be a folder or a hub id like 'gpt2', got {source!r}; pass its path or id")
    with pytest.raises(ValueError, match=message):
        cut.from_pretrained(source)
