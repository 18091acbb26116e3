"""`cutaway train`: flags become settings; what is printed, and where it goes."""

import dataclasses
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from little import SETTINGS, little_text

from cutaway import cli
from cutaway.commands.train import Options, parse
from cutaway.recipes.index import RECIPES, find_recipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.runs import execution
from cutaway.training.loop import Loop

FLAGS = [word for name, value in SETTINGS.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: None)
    little_text(tmp_path)


def run(*flags: str) -> int:
    return cli.run(["train", "gpt", "--data", "little.txt", *FLAGS, *flags])


def test_flags_become_settings():
    options, recipe, given = parse(GPTRecipe, ["gpt", "--steps", "7", "--width=32", "--checkpointing", "--out", "here"])
    assert options == Options(out="here")
    assert recipe == GPTRecipe(steps=7, width=32, checkpointing=True)
    assert given == {"steps", "width", "checkpointing"}


@pytest.mark.parametrize("words", [["--preset", "small"], ["--preset=small"]])
def test_a_preset_is_where_flags_begin_from(words: list[str]):
    _, recipe, given = parse(GPTRecipe, ["gpt", *words, "--depth", "2"])
    assert recipe == GPTRecipe.make("small", depth=2)
    assert given == {"depth"}


def test_help_says_what_every_flag_is_for(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train", "gpt", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    said = ("--steps N optimizer steps (default 800)", "--resume go on", "one of quick, gpt2, llama; default quick")
    for words in (*said, "Trains a small GPT", "--preset small stands for --width 128"):
        assert words in told


@pytest.mark.parametrize("name", RECIPES)
def test_help_shows_ten_settings_first_and_the_rest_under_headings(name: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train", name, "--help"]) == 0
    told = capsys.readouterr().out
    first = told.split("change these first:\n")[1].split("\n\n")[0]
    flags = re.findall(r"^  (--[a-z-]+)", first, re.MULTILINE)
    assert flags[:2] == ["--data", "--steps"]
    assert flags[-1] == "--out"
    assert len(flags) <= 10
    # what is on by default has a flag that turns it off
    every = [flag.replace("--no-", "--") for flag in re.findall(r"^  (--[a-z-]+)", told, re.MULTILINE)]
    known = [field.name for kind in (find_recipe(name), Options) for field in dataclasses.fields(kind)]
    assert sorted(every) == sorted(f"--{name.replace('_', '-')}" for name in known)


def test_help_shows_the_defaults_of_a_preset(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train", "gpt", "--preset=small", "--help"]) == 0
    assert "--steps N             optimizer steps (default 200)" in capsys.readouterr().out


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]):
    for argv in (["train"], ["train", "--help"]):
        assert cli.run(argv) == 0
        assert "  gpt          Trains a small GPT on text and lets it write." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["gtp"], "a recipe must be one of gpt"),
        (["gtp"], "got 'gtp'; did you mean gpt?"),
        (["imported"], "got 'imported'"),
        (["--steps", "5"], "the recipe comes first, got '--steps'; try `cutaway train gpt --steps 5`"),
        (["gpt", "--steps", "-5"], "--steps must be at least 1, got -5; try --steps 800"),
        (["gpt", "--steps", "many"], "--steps"),
        (["gpt", "--stepz", "5"], "--stepz"),
        (["gpt", "--preset", "large"], "preset must be one of small, got 'large'"),
        (["gpt", "--optimizer", "adamv"], "adamw"),
        (["gpt", "--data", "nowhere.txt"], "data must be a file, a folder or a sample, got 'nowhere.txt'"),
        (["gpt", "--resume"], "resuming needs the run's folder, got none; add --out runs/NAME"),
        (["gpt", "--resume", "--out", "nowhere"], "a run is a folder with config.json, got nowhere without one"),
        (["gpt", "--device", "gpu"], "device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'"),
    ],
)
def test_mistakes_are_one_line(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train", *argv]) == 2
    error = capsys.readouterr().err
    assert error.startswith("cutaway train: ")
    assert error.count("\n") == 1
    assert told in error
    assert not Path("runs").exists() or not list(Path("runs").iterdir())


def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]):
    assert run("--json") == 0
    told = capsys.readouterr()
    events = [json.loads(line)["event"] for line in told.out.splitlines()]
    assert (events[0], events[-1], told.err) == ("start", "end", "")


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]):
    assert run("--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_lines_then_a_sample_and_the_way_on(capsys: pytest.CaptureFixture[str]):
    assert run("--out", "here") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "little.txt: 4,010 characters, 4,010 tokens"
    assert "run: here" in lines
    assert "(whole validation split, weights of step " in lines[-3]
    assert lines[-2:] == [
        "run: here   report: here/report.html",
        "next: cutaway generate here --prompt ...   cutaway test here",
    ]


def test_resuming_keeps_the_settings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    real = Loop._checkpoint

    def stops(loop: Any) -> None:
        real(loop)
        if loop.step == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_checkpoint", stops)
        assert run("--out", "here") == 143
    assert "stopped after step 6 of 12; to go on: cutaway train gpt --resume --out here\n" in capsys.readouterr().err
    again = ["train", "gpt", "--resume", "--out", "here"]
    assert cli.run([*again, "--steps", "99"]) == 2
    assert "a resumed run keeps its settings, got --steps 99 where it has --steps 12" in capsys.readouterr().err
    assert cli.run([*again, "--preset", "small"]) == 2
    assert cli.run(again) == 0
    assert "run: here, from step 6 on" in capsys.readouterr().out
    assert cli.run(again) == 0
    assert capsys.readouterr().out.startswith("this run was finished before: nothing is left to train\n")


def test_a_run_that_diverges_is_code_2(capsys: pytest.CaptureFixture[str]):
    assert run("--rate", "1e38", "--optimizer", "sgd", "--clip", "0", "--quiet") == 2
    error = capsys.readouterr().err
    assert error.startswith("cutaway train: training needs finite numbers, but at step 1 the")
    assert error.count("\n") == 1


def test_tensorboard_is_looked_for_first(capsys: pytest.CaptureFixture[str]):
    from importlib.util import find_spec

    if find_spec("tensorboard") is not None:
        pytest.skip("says what happens without tensorboard")
    assert run("--tensorboard") == 2
    assert "run pip install tensorboard" in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("recipe", "verb"), [("cnn", "train cnn"), ("tuned-images", "tune"), ("imported", "train gpt"), (None, "train gpt")]
)
def test_a_forgotten_recipe_is_that_of_the_run(recipe: str | None, verb: str, capsys: pytest.CaptureFixture[str]):
    if recipe:
        Path("old").mkdir()
        Path("old", "config.json").write_text(json.dumps({"recipe": recipe}))
    assert cli.run(["train", "--resume", "--out=old"]) == 2
    assert f"got '--resume'; try `cutaway {verb} --resume --out=old`" in capsys.readouterr().err
