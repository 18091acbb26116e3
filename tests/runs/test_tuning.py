"""`cut.tune`: bases, and runs that go on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from killing import expect_same_after_death, start
from little import same, weights_of
from safetensors.torch import save_file
from tiny_bases import reviews, tiny_bert

import cutaway as cut
from cutaway.checksums import write_checksums
from cutaway.training.run_folder.checkpoints import FROZEN
from cutaway.training.run_folder.weights import read_tensors

QUICK: dict[str, Any] = dict(show="quiet", epochs=2, batch=8, rate=3e-3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tiny_bert(folder / "bert")
    reviews(folder / "reviews.csv")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("way", [{"full": True, "accumulate": 2}, {"head_only": True}, {"lora": 2}])
def test_killed_and_resumed_it_ends_with_the_same_weights(place: Path, tmp_path: Path, way: dict[str, Any]):
    settings = QUICK | way | {"base": str(place / "bert"), "data": str(place / "reviews.csv"), "checkpoint_every": 3}
    expect_same_after_death(tmp_path, "tuned-classify", settings)


@pytest.fixture(scope="module")
def halted(place: Path) -> Path:
    """A run tuned by LoRA that was killed after its second checkpoint."""
    settings = {name: value for name, value in QUICK.items() if name != "show"}
    settings |= {"base": str(place / "bert"), "data": str(place / "reviews.csv"), "checkpoint_every": 3, "lora": 2}
    process = start(
        place / "halted-lora",
        str(place / "cache"),
        False,
        "before old checkpoints are removed",
        settings,
        recipe="tuned-classify",
    )
    process.join()
    assert process.exitcode == -9
    return place / "halted-lora"


def resumed(run: Path) -> cut.runs.Run:
    return cut.tune(resume=True, out=run, show="quiet")


def test_checkpoints_share_what_is_frozen(halted: Path, place: Path, tmp_path: Path):
    run = shutil.copytree(halted, tmp_path / "run")
    checkpoint = run / "state" / (run / "state" / "latest").read_text().strip()
    trained, frozen = (read_tensors(path) for path in (checkpoint / "weights.safetensors", run / "state" / FROZEN))
    assert not [name for name in trained if ".lora." not in name and not name.startswith("head.")]
    assert not any(".lora." in name or name.startswith("head.") for name in frozen)
    assert set(read_tensors(checkpoint / "best.safetensors")) == set(trained)
    with pytest.warns(UserWarning, match="is not finished"):
        model = cut.load(run).model
    assert set(model.state_dict()) == set(trained) | set(frozen)
    base = cut.from_pretrained(place / "bert")
    assert frozen["embed.weight"].equal(base.embed.weight)


def test_runs_with_whole_checkpoints_go_on(halted: Path, tmp_path: Path):
    """As they were written before: every checkpoint holds all weights."""
    run = shutil.copytree(halted, tmp_path / "run")
    frozen = read_tensors(run / "state" / FROZEN)
    for checkpoint in (run / "state").glob("step-*"):
        for name in ("weights", "best"):
            save_file(frozen | read_tensors(checkpoint / f"{name}.safetensors"), checkpoint / f"{name}.safetensors")
        state = json.loads((checkpoint / "state.json").read_text())
        del state["frozen"]
        (checkpoint / "state.json").write_text(json.dumps(state))
        (checkpoint / "checksums.json").unlink()
        write_checksums(checkpoint)
    (run / "state" / FROZEN).unlink()
    ours = resumed(shutil.copytree(halted, tmp_path / "other"))
    assert same(weights_of(resumed(run).path), weights_of(ours.path))


def test_frozen_weights_that_are_gone_or_others_are_told(halted: Path, tmp_path: Path):
    run = shutil.copytree(halted, tmp_path / "run")
    frozen = read_tensors(run / "state" / FROZEN)
    (run / "state" / FROZEN).unlink()
    with pytest.raises(ValueError, match=r"frozen\.safetensors beside it is missing"):
        resumed(run)
    save_file(frozen, run / "state" / FROZEN)  # without the checksum that the checkpoint names
    with pytest.raises(ValueError, match=r"frozen\.safetensors beside it is of another run"):
        resumed(run)


def test_a_base_that_is_gone_changed_or_moved(halted: Path, place: Path, tmp_path: Path):
    run, config = shutil.copytree(halted, tmp_path / "run"), tmp_path / "run" / "config.json"
    about = json.loads(config.read_text())
    about["config"]["base"] = about["data"]["base"]["path"] = about["data"]["files"]["base"] = str(tmp_path / "bert")
    config.write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"goes on with its base, got none at .*bert; bring it back, or say where"):
        resumed(run)
    tiny_bert(tmp_path / "bert", depth=1)
    with pytest.raises(ValueError, match=r"base that it began with, got .*bert with digest \w{12} where the run has"):
        resumed(run)
    shutil.copytree(place / "bert", tmp_path / "elsewhere")
    found = cut.tune(tmp_path / "elsewhere", resume=True, out=run, show="quiet")
    assert found.finished
    assert json.loads(config.read_text())["data"]["base"]["path"] == str(tmp_path / "elsewhere")


def test_a_tuned_run_is_tuned_again(place: Path):
    first = cut.tune(place / "bert", data=place / "reviews.csv", full=True, out=place / "first", **QUICK)
    second = cut.tune(first, data=place / "reviews.csv", head_only=True, out=place / "second", **QUICK)
    assert second.about["data"]["base"]["path"] == str(place / "first")
    assert [row["accuracy"] for row in second.metrics if row["split"] == "validation"]


def test_what_is_missing_is_told(place: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=r"tuning needs a trained model, got none"):
        cut.tune(data="x.csv")
    with pytest.raises(ValueError, match=r"tuning needs data to learn from, got none"):
        cut.tune(place / "bert")
    with pytest.raises(ValueError, match=r"resuming needs the run's folder, got none"):
        cut.tune(resume=True)
    run = cut.train("markov", data="python-docs", out=tmp_path / "chain", show="quiet", steps=1)
    with pytest.raises(ValueError, match=r"tuning goes on with a tuned run, got .*chain, a run of 'markov'"):
        cut.tune(resume=True, out=run.path)
    with pytest.raises(ValueError, match=r"must be a model that can be tuned .* got .*chain"):
        cut.tune(run, data=place / "reviews.csv", task="classify")
