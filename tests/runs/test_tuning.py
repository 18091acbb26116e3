"""`cut.tune`: bases, and runs that go on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from killing import expect_same_after_death, start
from little import same, weights_of
from safetensors.torch import save_file
from tiny_bases import reviews, tiny_bert

import cutaway as cut
from cutaway.checksums import write_checksums
from cutaway.runs import execution
from cutaway.runs.checkpoints_in_and_out import export_run
from cutaway.training.run_folder.checkpoints import FROZEN
from cutaway.training.run_folder.weights import read_tensors

QUICK: dict[str, Any] = dict(show="quiet", epochs=2, batch=8, rate=3e-3)


@pytest.fixture(scope="module", autouse=True)
def _without_report() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tiny_bert(folder / "bert")
    reviews(folder / "reviews.csv")
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    "way",
    [
        {"full": True, "accumulate": 2},
        {"head_only": True},
        {"lora": 2},
        {"lora": 2, "dora": True, "lora_biases": "all"},
    ],
)
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


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"full": True}, {"head_only": True}, ""),
        ({"lora": 2}, {"lora": 3}, "its LoRA is merged into its weights"),
        ({"adapter": 3}, {"lora": 2}, "its adapters stay, frozen"),
        ({"adapter": 3}, {"adapter": 4}, "its adapters stay, frozen"),
    ],
)
def test_a_tuned_run_is_tuned_again(place: Path, tmp_path: Path, first: Any, second: Any, told: str):
    data = place / "reviews.csv"
    one = cut.tune(place / "bert", data=data, out=tmp_path / "one", **first, **QUICK)
    two = cut.tune(one, data=data, out=tmp_path / "two", **second, **QUICK | {"rate": 1e-12})
    assert two.about["data"]["base"]["path"] == str(tmp_path / "one")
    assert told in two.about["data"]["summary"]
    assert "head: that of the base, which has the same labels" in two.about["data"]["summary"]
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    assert torch.allclose(two.model(tokens), one.model(tokens), atol=1e-5)  # nothing was learned, so nothing changed
    assert cut.load(two.path).predict("a lovely film")[0]["label"] == one.predict("a lovely film")[0]["label"]
    three = cut.tune(two, data=data, full=True, out=tmp_path / "three", **QUICK | {"rate": 1e-12})
    assert torch.allclose(three.model(tokens), one.model(tokens), atol=1e-5)
    if "adapter" in first:
        with pytest.raises(ValueError, match=r"one network of weights, got .*three, which has adapters"):
            export_run(str(three.path), str(tmp_path / "x"))


def test_a_head_that_knows_some_labels_keeps_those(place: Path, tmp_path: Path):
    first = cut.tune(place / "bert", data=place / "reviews.csv", lora=2, out=tmp_path / "first", **QUICK)
    lines = (place / "reviews.csv").read_text().splitlines()
    mixed = [line.replace(",pos", ",mixed") if i % 3 == 0 else line for i, line in enumerate(lines)]
    (tmp_path / "mixed.csv").write_text("\n".join(mixed))
    settings = QUICK | {"rate": 1e-12, "fit_head": False}
    second = cut.tune(first, data=tmp_path / "mixed.csv", lora=2, out=tmp_path / "second", **settings)
    assert "head: that of the base for neg, pos, new for mixed" in second.about["data"]["summary"]
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    labels = list(second.model.spec.head.labels)
    ours = second.model(tokens)[0][[labels.index("neg"), labels.index("pos")]]
    assert torch.allclose(ours, first.model(tokens)[0], atol=1e-5)


def test_another_pooling_has_a_head_of_its_own(place: Path, tmp_path: Path):
    first = cut.tune(place / "bert", data=place / "reviews.csv", lora=2, out=tmp_path / "first", **QUICK)
    second = cut.tune(first, data=place / "reviews.csv", lora=2, pooling="layers", out=tmp_path / "second", **QUICK)
    assert "head:" not in second.about["data"]["summary"]
    assert second.model.head.classify.weight.shape == (48, 2)


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
