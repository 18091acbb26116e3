"""Heads beside a body that transformers loads: the lines of the README give our logits, and the folder opens again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_bases import tiny_bert, tiny_gpt

import cutaway as cut
from cutaway.hub.head_files import CONFIG, README, TENSORS

TEXTS = ["the film was a lovely story", "dull"]


def headed(folder: Path, base: str = "bert", pooling: str = "layers", labels: tuple[str, ...] = ("neg", "pos")) -> Any:
    source = tiny_bert(folder / "base") if base == "bert" else tiny_gpt(folder / "base", llama=base == "llama")
    torch.manual_seed(2)
    model: Any = cut.from_pretrained(source).with_labels(labels, pooling=pooling)
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.normal_()
    return model.eval()


def logits_of(model: Any, texts: list[str]) -> torch.Tensor:
    frame = model.tokenizer.encode_whole
    return torch.cat([model(torch.tensor(frame(text))[None]) for text in texts])


@pytest.mark.parametrize(
    ("base", "pooling"),
    [
        ("bert", "layers"),
        ("bert", "mean"),
        ("bert", "attention"),
        ("bert", "last"),
        ("gpt", "layers"),
        ("llama", "mean"),
    ],
)
def test_the_lines_of_the_readme_give_our_logits(tmp_path: Path, base: str, pooling: str):
    pytest.importorskip("transformers")
    model = headed(tmp_path, base, pooling)
    folder = cut.save_pretrained(model, tmp_path / "saved")
    lines = re.search(r"```python\n(.*?)```", (folder / README).read_text(encoding="utf-8"), re.DOTALL)
    assert lines is not None
    code = lines[1].replace('folder = "."', f"folder = {str(folder)!r}")
    assert 'texts = ["a text of yours", "and another"]' in code
    found: dict[str, Any] = {}
    exec(code.replace('["a text of yours", "and another"]', repr(TEXTS)), found)
    assert torch.allclose(found["logits"], logits_of(model, TEXTS), atol=1e-5)


@pytest.mark.parametrize(("base", "pooling"), [("bert", "layers"), ("bert", "attention"), ("llama", "mean")])
def test_the_lines_beside_an_adapter_give_our_logits_with_peft(tmp_path: Path, base: str, pooling: str):
    """peft passes over a head that no class of transformers has: it is beside the adapter, and that is told."""
    pytest.importorskip("peft")
    model = headed(tmp_path, base, pooling)
    cut.lora(model, "all-linear", rank=2, train="head")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora." in name:
                parameter.normal_(std=0.3)
    with pytest.warns(
        UserWarning, match=r"loads the updates of this adapter without its head, .*README\.md has the lin"
    ):
        folder = cut.save_adapter(model, tmp_path / "adapter")
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    assert (config["task_type"], config["modules_to_save"]) == ("FEATURE_EXTRACTION", None)
    lines = re.search(r"```python\n(.*?)```", (folder / README).read_text(encoding="utf-8"), re.DOTALL)
    assert lines is not None
    code = lines[1].replace('folder = "."', f"folder = {str(folder)!r}")
    code = code.replace('base = "..."', f"base = {str(tmp_path / 'base')!r}")
    found: dict[str, Any] = {}
    exec(code.replace('["a text of yours", "and another"]', repr(TEXTS)), found)
    assert torch.allclose(found["logits"], logits_of(model, TEXTS), atol=1e-5)
    again = headed(tmp_path / "again", base, pooling)
    cut.load_adapter(again, folder)
    assert torch.allclose(logits_of(again, TEXTS), logits_of(model, TEXTS), atol=1e-5)


def test_an_adapter_with_a_head_of_transformers_has_no_other(tmp_path: Path, recwarn: pytest.WarningsRecorder):
    for base, pooling in (("bert", "cls"), ("llama", "last")):
        model = headed(tmp_path / base, base, pooling)
        cut.lora(model, "all-linear", rank=2, train="head")
        folder = cut.save_adapter(model, tmp_path / base / "adapter")
        assert not (folder / TENSORS).exists()
    alone = headed(tmp_path / "alone", pooling="mean")
    cut.lora(alone, "all-linear", rank=2)  # whose head is that of nobody: it was not trained
    assert not (cut.save_adapter(alone, tmp_path / "alone" / "adapter") / TENSORS).exists()
    assert not [one for one in recwarn if "head" in str(one.message)]


def test_the_folder_opens_as_the_same_classifier(tmp_path: Path):
    model = headed(tmp_path, labels=("a", "b", "ü"))
    model.head.context = 9
    back: Any = cut.from_pretrained(cut.save_pretrained(model, tmp_path / "saved"))
    assert back.spec.head == model.spec.head
    assert back.head.context == 9
    assert torch.allclose(logits_of(back, TEXTS), logits_of(model, TEXTS), atol=1e-5)  # turned matrices: other sums
    assert json.loads((tmp_path / "saved" / CONFIG).read_text(encoding="utf-8"))["labels"] == ["a", "b", "ü"]
    body = json.loads((tmp_path / "saved" / "config.json").read_text(encoding="utf-8"))
    assert body["architectures"] == ["BertModel"]
    assert load_file(tmp_path / "saved" / TENSORS)["classify.weight"].shape == (3, 48)  # as torch.nn.Linear has it


def test_heads_that_transformers_has_are_in_its_classes(tmp_path: Path):
    for base, pooling, name in (("bert", "cls", "Bert"), ("gpt", "last", "GPT2"), ("llama", "last", "Llama")):
        folder = cut.save_pretrained(headed(tmp_path / base, base, pooling), tmp_path / base / "saved")
        assert not (folder / CONFIG).exists()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        assert config["architectures"] == [f"{name}ForSequenceClassification"]


def test_a_json_of_another_program_is_not_a_head(tmp_path: Path):
    folder = tiny_bert(tmp_path / "base", head=None)
    (folder / CONFIG).write_text('{"heads": 3}')
    assert cut.from_pretrained(folder).spec.head is None


def test_damage_is_told(tmp_path: Path):
    folder = cut.save_pretrained(headed(tmp_path), tmp_path / "saved")
    whole = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    tensors = load_file(folder / TENSORS)

    def write(**changes: Any) -> None:
        (folder / CONFIG).write_text(json.dumps(whole | changes), encoding="utf-8")

    write(cutaway_head=7)
    with pytest.raises(ValueError, match=r"reads heads of format 1, got 7 in .*head\.json; upgrade"):
        cut.from_pretrained(folder)
    write(pooling="median")
    with pytest.raises(ValueError, match=r"head\.json must describe a head, got .*'median'"):
        cut.from_pretrained(folder)
    write(context="long")
    with pytest.raises(ValueError, match=r"must have a list of labels and a context"):
        cut.from_pretrained(folder)
    write(pooling="attention")
    with pytest.raises(
        ValueError, match=r"tensors classify\.bias, classify\.weight, pool\.weight, got classify\.bias, "
    ):
        cut.from_pretrained(folder)
    write(labels=["a", "b", "c"], classes=3)
    with pytest.raises(
        ValueError, match=r"must fit the body .* got head\.classify\.weight of shape \(48, 2\) for \(48, 3"
    ):
        cut.from_pretrained(folder)
    write()
    (folder / TENSORS).write_bytes(b"no tensors")
    with pytest.raises(ValueError, match=r"a head needs safetensors, got .*head\.safetensors"):
        cut.from_pretrained(folder)
    (folder / TENSORS).unlink()
    with pytest.raises(ValueError, match=r"a head needs its head\.safetensors, got .*saved without one"):
        cut.from_pretrained(folder)
    save_file(tensors, folder / TENSORS)
    assert cut.from_pretrained(folder).spec.head.pooling == "layers"
