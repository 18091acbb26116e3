"""A run folder or a checkpoint, opened alike."""

import pytest
import torch

import cutaway as cut
from cutaway.data.text.tokenizers import Bytes
from cutaway.models import BERT
from cutaway.runs.opening import CheckpointRun, open_source


@pytest.fixture
def checkpoint(tmp_path):
    model = BERT(vocabulary=256, width=12, depth=1, heads=3, context=16).eval()
    model.tokenizer = Bytes()
    return model, str(cut.save_pretrained(model, tmp_path / "checkpoint"))


def test_a_checkpoint_is_asked_as_a_run(checkpoint):
    model, folder = checkpoint
    run = open_source(folder)
    assert isinstance(run, CheckpointRun)
    assert torch.equal(run.embed(["a", "bc"]), model.embed(["a", "bc"]))
    assert run.tokenizer.vocabulary == 256
    assert run.file("tokenizer.json") is None
    assert run.nearest("a", among=["bc", "a"], k=1) == [("a", pytest.approx(1.0))]


def test_a_run_is_a_run(trained):
    run = open_source(trained("gpt"))
    assert type(run) is cut.runs.Run
    assert run.recipe.name == "gpt"


@pytest.mark.parametrize("source", ["runs/none", "/nowhere/at/all", "./none"])
def test_neither(source):
    with pytest.raises(ValueError, match=r"a run is a folder with config.json, got .* without one"):
        open_source(source)
