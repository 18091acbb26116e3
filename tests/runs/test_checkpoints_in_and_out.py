"""A checkpoint as a run, and a run as a checkpoint."""

import json
from pathlib import Path

import pytest
import torch
from little import SETTINGS, little_text, same

import cutaway as cut
from cutaway.data.text.tokenizers import Characters
from cutaway.hub.tokenizers import set_marks
from cutaway.models import GPT
from cutaway.models.generation.texts import encode_prompt
from cutaway.runs import execution
from cutaway.runs.checkpoints_in_and_out import export_run, import_checkpoint


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: None)


def checkpoint(folder: Path) -> GPT:
    model = GPT(vocabulary=7, width=8, depth=1, heads=2, context=16)
    cut.save_pretrained(model, folder)
    return model


def test_a_checkpoint_becomes_a_run(tmp_path: Path):
    model = checkpoint(tmp_path / "tiny")
    run = import_checkpoint("tiny")
    assert run.path == Path("runs/tiny-1")
    assert same(dict(run.model.state_dict()), dict(model.state_dict()))
    assert run.model.spec == cut.from_pretrained("tiny").spec
    assert (run.tokenizer, run.metrics, run.finished) == (None, [], True)
    assert "not trained here" in repr(run)
    with pytest.raises(ValueError, match="text needs a tokenizer"):
        run.generate("a")
    with pytest.raises(ValueError, match="a run of 'imported' cannot be tested"):
        run.test()
    with pytest.raises(ValueError, match="an imported run was not trained here and cannot be resumed; train a new one"):
        cut.train("imported", resume=True, out=run.path)


def test_an_import_leaves_nothing_if_it_fails():
    with pytest.raises(ValueError, match="nowhere"):
        import_checkpoint("./nowhere")
    assert not Path("runs").exists()


def test_there_and_back(tmp_path: Path):
    text = little_text(tmp_path)
    run = cut.train("gpt", data=text, show="quiet", design="gpt2", **SETTINGS)
    folder = export_run(str(run.path), "out")
    assert json.loads((folder / "config.json").read_text())["model_type"] == "gpt2"
    again = import_checkpoint("out", "again")
    tokens = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        torch.testing.assert_close(again.model(tokens), run.model(tokens))
    assert again.tokenizer.encode("the cat").tolist() == run.tokenizer.encode("the cat").tolist()
    assert again.generate("the ", tokens=4, seed=0) == run.generate("the ", tokens=4, seed=0)


def test_an_export_overwrites_nothing(tmp_path: Path):
    checkpoint(tmp_path / "tiny")
    run = import_checkpoint("tiny")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    with pytest.raises(ValueError, match="a checkpoint needs a folder of its own, got full, which is not empty"):
        export_run(str(run.path), "full")


def test_transformers_loads_what_was_exported(tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    run = cut.train("gpt", data=little_text(tmp_path), show="quiet", design="llama", **SETTINGS)
    export_run(str(run.path), "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained("out").eval()
    tokens = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        torch.testing.assert_close(theirs(tokens).logits, run.model(tokens), rtol=1e-4, atol=1e-5)


def test_a_design_without_an_architecture_elsewhere_names_those_that_have_one(tmp_path: Path):
    run = cut.train("gpt", data=little_text(tmp_path), show="quiet", **SETTINGS)
    message = r"Hugging Face to be exported, got 'quick', which has none; train it with --design llama or --design gpt2"
    with pytest.raises(ValueError, match=message):
        export_run(str(run.path), "out")
    assert not Path("out").exists()


def test_what_a_checkpoint_came_with_goes_through_a_run(tmp_path: Path):
    """generation_config.json, tokenizer_config.json with its chat template, and the ids of special tokens."""
    transformers = pytest.importorskip("transformers")
    tokenizer = Characters("abcdef", special=["<s>", "</s>"])
    tokenizer.settings = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": "<s>{{ messages[0]['content'] }}"}
    model = GPT.llama(vocabulary=8, width=8, depth=1, heads=2, context=16)
    model.tokenizer = tokenizer
    model.generation_config = {"bos_token_id": 6, "eos_token_id": [7, 0], "temperature": 0.6, "do_sample": True}
    model.spec = model.spec.but(end=(7, 0))
    cut.save_pretrained(model, "given")
    run = import_checkpoint("given")
    assert run.model.spec.end == (7, 0)
    chat = [{"role": "user", "content": "ab"}]
    assert run.generate(chat, tokens=3, seed=0) == run.generate("<s>ab", special=True, tokens=3, seed=0)
    export_run(str(run.path), "out")
    for name in ("generation_config.json", "tokenizer_config.json", "tokenizer.json", "config.json"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "given" / name).read_text(), name
    peer = transformers.AutoTokenizer.from_pretrained("out")
    assert peer.apply_chat_template(chat, return_dict=False) == [6, 0, 1]


def test_marks_around_a_text_go_through_a_run():
    """A Llama begins its texts with <s>: a run of it must, too."""
    tokenizer = Characters("abcdef", special=["<s>"])
    set_marks(tokenizer.inner, "<s>", None)
    model = GPT.llama(vocabulary=7, width=8, depth=1, heads=2, context=16)
    model.tokenizer = tokenizer
    cut.save_pretrained(model, "given")
    run = import_checkpoint("given")
    assert encode_prompt(run.tokenizer, "ab") == [6, 0, 1]
