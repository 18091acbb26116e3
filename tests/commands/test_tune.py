"""`cutaway tune`."""

from pathlib import Path

import pytest
from tiny_bases import reviews, tiny_bert

from cutaway import cli


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    tiny_bert(folder / "bert")
    reviews(folder / "reviews.csv")
    return folder


def test_it_tunes_and_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(place)
    words = ["tune", "bert", "--data", "reviews.csv", "--head-only", "--steps", "3", "--out", "runs/a"]
    assert cli.run(words) == 0
    said = capsys.readouterr().out
    assert "task: classify, as bert is a BERT and reviews.csv looks like a table of texts and labels" in said
    assert "tuning: the head alone; " in said
    assert "next: cutaway predict runs/a" in said
    assert cli.run(["tune", "--resume", "--out", "runs/a"]) == 0
    assert "nothing is left to train" in capsys.readouterr().out
    assert cli.run(["predict", "runs/a", "a fine film"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tune", "BASE, the run or checkpoint to tune, must be given, got none; write `cutaway tune BASE --data PATH`"),
        ("tune bert", "--data, what to learn from, must be given, got none; write `cutaway tune bert --data PATH`"),
        ("tune bert --data none.csv", "none.csv"),
        ("tune none --data reviews.csv", "a checkpoint must be a folder or a hub id"),
        ("tune bert --data reviews.csv --lora 8 --head-only", "tuning has one way, got --lora 8 and --head-only"),
        ("tune bert --data reviews.csv --task sing", "--task must be one of tag, language, chat, images, classify"),
        ("tune bert --data reviews.csv --epochs -1", "--epochs must be at least 0, got -1.0; try --epochs 0"),
        ("tune bert --data reviews.csv --layer-decay 2", "--layer-decay must be above 0 and at most 1, got 2.0"),
        (
            "tune bert --data reviews.csv --last 7 --out x",
            "--last must be at most the number of layers, got --last 7 for 2",
        ),
        ("tune bert --data reviews.csv --wdith 7", "a flag must be one that `cutaway tune` has, got --wdith"),
    ],
)
def test_mistakes_are_told_in_a_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
):
    monkeypatch.chdir(place)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert cli.run(words.split()) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_help_shows_tasks_and_their_flags(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["tune", "--help"]) == 0
    assert "--task classify: Tunes a model of text to give every text one of several labels." in " ".join(
        capsys.readouterr().out.split()
    )
    assert cli.run(["tune", "--task", "classify", "--help"]) == 0
    assert "--pooling" in capsys.readouterr().out
