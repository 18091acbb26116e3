"""A checkpoint as a run, and a run as a checkpoint."""

import json
from pathlib import Path

import pytest
import torch
from little import SETTINGS, little_text, same

import cutaway as cut
from cutaway.models import GPT
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
