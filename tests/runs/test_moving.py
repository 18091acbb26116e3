"""Runs of sequences that are killed at random moments, moved, opened from elsewhere, or damaged."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from killing import start
from little import same, timeless, weights_of
from trained import TRAINED

import cutaway as cut
from cutaway.cli import run as command
from cutaway.runs import execution

LONGER = dict(steps=60, evaluate_every=10, checkpoint_every=10, log_every=1)


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.long
@pytest.mark.parametrize("recipe", ["seq2seq", "series-classifier", "anomaly"])
def test_killed_at_random_moments_it_ends_with_the_same_weights(recipe: str, tmp_path: Path):
    make_data, settings = TRAINED[recipe]
    given = settings | LONGER | {"data": str(make_data(tmp_path)), "ema": 0.9}
    cache = str(tmp_path / "cache")
    process = start(tmp_path / "unbroken", cache, False, "", given, recipe=recipe)
    process.join()
    assert process.exitcode == 0
    draw, out, killed = random.Random(0), tmp_path / "killed", 0
    for _ in range(3):
        resume = (out / "config.json").exists()
        process = start(out, cache, resume, "", {} if resume else given, recipe=recipe)
        wanted, wait = draw.randint(3, 15), draw.uniform(0, 0.02)
        before = _lines(out / "metrics.jsonl")
        while process.is_alive() and _lines(out / "metrics.jsonl") < before + wanted:
            before = min(before, _lines(out / "metrics.jsonl"))  # a resumed run first cuts its log back
            time.sleep(0.001)
        time.sleep(wait)
        process.kill()
        process.join()
        killed += process.exitcode == -9
    assert killed >= 2
    process = start(out, cache, True, "", {}, recipe=recipe)
    process.join()
    assert process.exitcode == 0
    assert same(weights_of(tmp_path / "unbroken"), weights_of(out))
    assert timeless(tmp_path / "unbroken") == timeless(out)


def _with_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Settings with files of their own beside the data, by paths that hold in ``folder`` alone."""
    for recipe in ("tagger", "classifier", "series-classifier", "seq2seq"):
        TRAINED[recipe][0](folder)
    vectors = [f"{word} {i} 1 {-i}" for i, word in enumerate(["the", "dogs", "film", "good", "bad"])]
    (folder / "vectors.txt").write_text("\n".join(vectors) + "\n")
    for name in ("little.conllu", "labelled.tsv", "waves.csv"):
        shutil.copy(folder / name, folder / f"test-{name}")
    run = cut.train("seq2seq", data="pairs.tsv", out="first", show="quiet", **TRAINED["seq2seq"][1])
    shutil.copy(run.path / "tokenizer.json", folder / "own.json")
    tagged = dict(test_file="test-little.conllu", validation_file="test-little.conllu", vectors="vectors.txt")
    return {
        "tagger": dict(tagged, data="little.conllu", steps=8, checkpoint_every=2),
        "classifier": dict(data="labelled.tsv", test_file="test-labelled.tsv", vectors="vectors.txt"),
        "series-classifier": dict(data="waves.csv", test_file="test-waves.csv"),
        "seq2seq": dict(data="pairs.tsv", tokenizer="own.json"),
    }


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As many as the processes that are killed: sums of other numbers of threads round differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_a_run_goes_on_from_another_folder_and_after_a_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Paths of the settings hold where the run began; the run knows them from everywhere."""
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    for recipe, more in _in(home, monkeypatch, _with_files).items():
        monkeypatch.chdir(home)
        settings = TRAINED[recipe][1] | more
        whole = cut.train(recipe, out=f"{recipe}-whole", show="quiet", **settings)
        process = start(
            Path(f"{recipe}-cut"), "cache", False, "before old checkpoints are removed", settings, 1, recipe
        )
        process.join()
        assert process.exitcode == -9
        shutil.move(f"{recipe}-cut", elsewhere / recipe)
        monkeypatch.chdir(elsewhere)
        run = cut.train(recipe, out=recipe, resume=True, show="quiet")
        assert same(weights_of(home / whole.path), weights_of(run.path))
        assert run.test().keys() >= {"loss", "accuracy"}
        assert cut.load(recipe).subject() is not None


def _in(folder: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Any]) -> Any:
    monkeypatch.chdir(folder)
    return make(folder)


SEQUENCES = ["lstm", "markov", "tagger", "classifier", "seq2seq", "series-classifier", "anomaly"]
INPUTS = {
    "lstm": ["generate", "run", "--prompt", "the"],
    "markov": ["generate", "run", "--prompt", "the"],
    "seq2seq": ["generate", "run", "--prompt", "I see 3 cats."],
}


@pytest.mark.parametrize("recipe", SEQUENCES)
def test_a_damaged_file_is_told_in_a_sentence(
    recipe: str, own_run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Each file of a run, cut in half or with a byte turned over, is found before it does harm."""
    run = own_run(recipe)
    monkeypatch.chdir(run.path.parent)
    os.rename(run.path, "run")
    words = INPUTS.get(recipe, ["predict", "run", str(run.recipe.data)])
    assert command(words) == 0
    capsys.readouterr()
    files = [p for p in Path("run").iterdir() if p.suffix in (".json", ".safetensors", ".txt") and p.is_file()]
    assert len(files) >= 2
    for path in files:
        content = path.read_bytes()
        middle = len(content) // 2
        for damaged in (
            content[:middle],
            content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :],
            b"",
        ):
            path.write_bytes(damaged)
            code = command(words)
            shown = capsys.readouterr()
            if path.name == "config.json" and code == 0:
                continue  # one letter of a path or a summary, perhaps, which nobody can know
            assert code == 2, (path, len(damaged))
            assert shown.err.count("\n") == 1
            assert path.name in shown.err, shown.err
            assert "; " in shown.err
            assert shown.out == ""
        path.write_bytes(content)
    assert command(words) == 0
