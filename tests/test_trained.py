"""The runs that tests share: trained once, the same for all who ask, and guarded against changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trained import TRAINED, digest, train_once


@pytest.mark.parametrize("recipe", TRAINED)
def test_runs_are_finished_and_trained_once(
    recipe: str, trained: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
):
    import cutaway as cut
    from cutaway.runs import execution

    run = trained(recipe)
    assert cut.load(run).finished
    monkeypatch.delattr(execution, "train")  # a second training would fail
    assert trained(recipe) == run


def test_a_copy_is_ones_own(trained: Callable[[str], Path], own_run: Callable[[str], Any]):
    shared, before = trained("gpt"), digest(trained("gpt"))
    mine = own_run("gpt").path
    assert digest(mine) == before
    (mine / "config.json").unlink()
    assert digest(mine) != before
    assert digest(shared) == before


def test_a_training_that_failed_is_begun_again(tmp_path: Path):
    (tmp_path / "logistic" / "run").mkdir(parents=True)
    assert (train_once("logistic", tmp_path, lambda run: None) / "model.safetensors").exists()
