"""`cutaway list`: what there is, as a table or as JSON."""

import json

import pytest

from cutaway import cli
from cutaway.data.samples.embedded import list_samples
from cutaway.registry import entries


def listed(what: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert cli.run(["list", what, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_blocks(capsys: pytest.CaptureFixture[str]):
    rows = listed("blocks", capsys)
    assert [row["block"] for row in rows] == [entry.name for entry in entries()]
    assert all(row["equation"] for row in rows)
    assert cli.run(["list"]) == 0
    assert "softmax" in capsys.readouterr().out


def test_recipes(capsys: pytest.CaptureFixture[str]):
    assert listed("recipes", capsys)[0]["recipe"] == "gpt"
    assert cli.run(["list", "recipes"]) == 0
    assert "Trains a small GPT on text and lets it write." in capsys.readouterr().out


def test_data(capsys: pytest.CaptureFixture[str]):
    rows = listed("data", capsys)
    assert [row["name"] for row in rows] == [sample.name for sample in list_samples()]
    assert cli.run(["list", "data"]) == 0
    assert "python-docs" in capsys.readouterr().out


def test_what_cannot_be_listed(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["list", "cheese"]) == 2
    error = capsys.readouterr().err
    assert "blocks,recipes,abilities,views,data" in error.replace(" ", "").replace("'", "")
    assert error.count("\n") == 1
