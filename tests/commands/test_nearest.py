"""`cutaway nearest`: words, questions with signs, JSON, and one line for every mistake."""

import json

import numpy as np
import pytest

from cutaway import cli
from cutaway.data.text.vector_files import write_vectors
from cutaway.runs.checkpoints_in_and_out import import_checkpoint

WORDS = ["king", "man", "woman", "queen", "apple"]
MATRIX = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [-1, 0.3, 0.2]], np.float32)


@pytest.fixture
def run(tmp_path):
    return import_checkpoint(str(write_vectors(tmp_path / "glove.txt", WORDS, MATRIX)), str(tmp_path / "run"))


def test_on_the_command_line(run, capsys):
    assert cli.run(["nearest", str(run.path), "king", "-", "man", "+", "woman", "--count", "1"]) == 0
    assert capsys.readouterr().out.split() == [
        "king",
        "-",
        "man",
        "+",
        "woman",
        "queen",
        "0.959",
    ]  # (-0.293, 0.707, 1) and (0, 1, 1)
    assert cli.run(["nearest", str(run.path), "king", "apple", "--json", "--count", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["of"] for row in rows] == ["king", "apple"]
    for words, message in (
        (["quen"], "did you mean 'queen'"),
        (["king", "-"], "a sign must stand before a word"),
        (["king", "--count", "0"], "--count must be at least 1"),
        ([], "must be given, got none"),
    ):
        assert cli.run(["nearest", str(run.path), *words]) == 2
        told = capsys.readouterr().err
        assert message in told
        assert told.count("\n") == 1


def test_tokens_of_a_language_model_stay_in_their_line(trained, capsys):
    assert cli.run(["nearest", str(trained("gpt")), "e", "--count", "60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "e"
    assert all(line.startswith("  ") and float(line.split()[-1]) <= 1 for line in lines[1:])
    assert any("↵" in line or "␣" in line for line in lines)
