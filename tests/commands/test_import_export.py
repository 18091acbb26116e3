"""`cutaway export` and `cutaway import`: a run becomes a checkpoint, and the checkpoint a run that answers the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import cutaway as cut
from cutaway.cli import run


def test_there_and_back(own_run: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, checkpoint, back = own_run("bert"), tmp_path / "checkpoint", tmp_path / "back"
    assert run(["export", str(first.path), "--to", str(checkpoint)]) == 0
    assert capsys.readouterr().out == f"checkpoint: {checkpoint}\n"
    assert run(["import", str(checkpoint), "--out", str(back)]) == 0
    assert capsys.readouterr().out == f"run: {back}\n"
    tokens = torch.tensor([[2, 5, 7, 3]])
    torch.testing.assert_close(cut.load(back).model(tokens), first.model(tokens))


@pytest.mark.parametrize(
    "argv", [["import"], ["export"], ["import", "nowhere/at/all"], ["export", "nowhere", "--to", "x"]], ids=" ".join
)
def test_mistakes_are_a_line(argv: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(argv) == 2
    assert capsys.readouterr().err.count("\n") == 1
