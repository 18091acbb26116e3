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
from cutaway.training.run_folder.weights import read_tensors, separate, write_tensors

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


def test_checkpoints_leave_out_what_the_base_has(halted: Path, place: Path, tmp_path: Path):
    run = shutil.copytree(halted, tmp_path / "run")
    checkpoint = run / "state" / (run / "state" / "latest").read_text().strip()
    trained = read_tensors(checkpoint / "weights.safetensors")
    assert not [name for name in trained if ".lora." not in name and not name.startswith("head.")]
    assert set(read_tensors(checkpoint / "best.safetensors")) == set(trained)
    assert not (run / "state" / FROZEN).exists()
    with pytest.warns(UserWarning, match="is not finished"):
        model = cut.load(run).model
    base = cut.from_pretrained(place / "bert")
    assert model.embed.weight.equal(base.embed.weight)
    assert {name for name in model.state_dict() if name.startswith("blocks")} - set(trained), "these are of the base"
    done = resumed(run)
    assert set(read_tensors(run / "model.safetensors")) == set(trained)
    assert not (run / "state").exists(), "a finished run needs no checkpoint"
    assert done.predict("a lovely film")


def made_before(run: Path, place: Path, shared: bool) -> Path:
    """A run as it was written before bases were left out: frozen weights once for all checkpoints, or in each."""
    with pytest.warns(UserWarning, match="is not finished"):
        state = cut.load(run).model.state_dict()
    for checkpoint in (run / "state").glob("step-*"):
        kept = read_tensors(checkpoint / "weights.safetensors")
        frozen = {name: x for name, x in state.items() if name not in kept}
        about = json.loads((checkpoint / "state.json").read_text())
        if shared:
            about["frozen"] = write_tensors(run / "state" / FROZEN, frozen)
        for name in () if shared else ("weights", "best"):
            whole = separate(frozen | read_tensors(checkpoint / f"{name}.safetensors"))
            save_file(whole, checkpoint / f"{name}.safetensors")
        (checkpoint / "state.json").write_text(json.dumps(about))
        (checkpoint / "checksums.json").unlink()
        write_checksums(checkpoint)
    about = json.loads((run / "config.json").read_text())
    del about["data"]["base"]["weights"], about["data"]["base"]["beside"], about["config"]["self_contained"]
    (run / "config.json").write_text(json.dumps(about))
    return run


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "whole"])
def test_runs_made_before_open_and_go_on(halted: Path, place: Path, tmp_path: Path, shared: bool):
    run = made_before(shutil.copytree(halted, tmp_path / "run"), place, shared)
    with pytest.warns(UserWarning, match="is not finished"):
        before = cut.load(run).model.state_dict()
    assert len(before) > 20
    ours = resumed(shutil.copytree(halted, tmp_path / "other"))
    assert same(weights_of(resumed(run).path), weights_of(ours.path))


def test_finished_runs_made_before_need_no_base(place: Path, tmp_path: Path):
    run = cut.tune(place / "bert", data=place / "reviews.csv", lora=2, out=tmp_path / "run", **QUICK)
    expected, state = run.predict("a lovely film"), run.model.state_dict()
    write_tensors(run.path / "model.safetensors", dict(state))
    about = json.loads((run.path / "config.json").read_text())
    del about["data"]["base"]["weights"], about["data"]["base"]["beside"], about["config"]["self_contained"]
    about["data"]["base"]["path"] = about["data"]["base"]["given"] = about["config"]["base"] = "/gone"
    (run.path / "config.json").write_text(json.dumps(about))
    assert cut.load(run.path).predict("a lovely film")[0]["label"] == expected[0]["label"]


def test_frozen_weights_that_are_gone_or_others_are_told(halted: Path, place: Path, tmp_path: Path):
    run = made_before(shutil.copytree(halted, tmp_path / "run"), place, shared=True)
    frozen = read_tensors(run / "state" / FROZEN)
    (run / "state" / FROZEN).unlink()
    with pytest.raises(ValueError, match=r"frozen\.safetensors beside it is missing"):
        resumed(run)
    save_file(separate(frozen), run / "state" / FROZEN)  # without the checksum that the checkpoint names
    with pytest.raises(ValueError, match=r"frozen\.safetensors beside it is of another run"):
        resumed(run)


WAYS: list[dict[str, Any]] = [{"lora": 2}, {"adapter": 3}, {"head_only": True}, {"last": 1}, {"full": True}]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: next(iter(way)))
def test_a_run_holds_what_was_learned(place: Path, tmp_path: Path, way: dict[str, Any]):
    """Referenced and copied, the base gives the same model; what was trained is in the run folder alone."""
    given = dict(data=place / "reviews.csv", **way, **QUICK)
    run = cut.tune(place / "bert", out=tmp_path / "run", **given)
    whole = cut.tune(place / "bert", out=tmp_path / "whole", self_contained=True, **given)
    assert same(run.model.state_dict(), whole.model.state_dict())
    assert not (run.path / "base.safetensors").exists()
    held, all_names = set(read_tensors(run.path / "model.safetensors")), set(run.model.state_dict())
    learned = {name for name, x in run.model.state_dict(keep_vars=True).items() if x.requires_grad}
    assert learned <= held
    copied = set() if "full" in way else set(read_tensors(whole.path / "base.safetensors"))
    assert held | copied == all_names
    assert not held & copied, "every weight is written once"
    assert ("full" in way) == (held == all_names)
    assert not (run.path / "state").exists()
    tokens = torch.tensor([[1, 6, 7, 16, 2]])
    assert torch.allclose(cut.load(run.path).model(tokens), cut.load(whole.path).model(tokens), atol=1e-6)


def test_a_base_that_is_gone_is_named_with_its_digest_and_where_it_was_looked_for(place: Path, tmp_path: Path):
    base = shutil.copytree(place / "bert", tmp_path / "models" / "bert")
    given = dict(data=place / "reviews.csv", lora=2, **QUICK)
    run = cut.tune(base, out=tmp_path / "runs" / "a", **given)
    whole = cut.tune(base, out=tmp_path / "runs" / "b", self_contained=True, **given)
    expected, digest = run.predict("a lovely film"), run.about["data"]["base"]["digest"]
    gone = base.rename(tmp_path / "elsewhere")
    for use in (cut.load, lambda path: cut.runs.Run(path).model):
        with pytest.raises(ValueError, match="needs the base that it was tuned from") as told:
            use(run.path)
        assert all(word in str(told.value) for word in (str(base), digest, "looked in", str(run.path / "base"), "link"))
    assert cut.load(whole.path).predict("a lovely film") == expected
    (run.path / "base").symlink_to(gone)
    assert cut.load(run.path).predict("a lovely film") == expected, "by a link in the run folder"
    (run.path / "base").unlink()
    shutil.copytree(gone, base)
    shutil.move(tmp_path / "runs", tmp_path / "far" / "runs")
    shutil.move(tmp_path / "models", tmp_path / "far" / "models")
    assert cut.load(tmp_path / "far" / "runs" / "a").predict("a lovely film") == expected, "both were moved together"


def test_a_base_that_changed_is_refused(place: Path, tmp_path: Path):
    base = shutil.copytree(place / "bert", tmp_path / "bert")
    run = cut.tune(base, data=place / "reviews.csv", lora=2, out=tmp_path / "run", **QUICK)
    digest = run.about["data"]["base"]["digest"]
    tensors = read_tensors(base / "model.safetensors")
    name = next(iter(tensors))
    tensors[name] = tensors[name] + 1e-3
    save_file(separate(tensors), base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        ValueError, match=rf"tuned from \(.*sha256 {digest}\), got other weights in .*bert \(\w{{64}}\)"
    ):
        cut.load(run.path).predict("a lovely film")
    shutil.copytree(place / "bert", run.path / "base")
    assert cut.load(run.path).predict("a lovely film"), "the right one is found beside"


def test_a_base_in_training_is_copied(halted: Path, place: Path, tmp_path: Path):
    """Its newest checkpoint is tuned, and is gone when it goes on."""
    base = shutil.copytree(halted, tmp_path / "base")
    with pytest.warns(UserWarning, match="is not finished: its newest checkpoint is tuned"):
        run = cut.tune(base, data=place / "reviews.csv", lora=2, out=tmp_path / "run", **QUICK)
    assert run.about["data"]["base"]["weights"] == "copied"
    shutil.rmtree(base)
    assert cut.load(run.path).predict("a lovely film")


def test_damaged_copies_and_weights_are_told(place: Path, tmp_path: Path):
    run = cut.tune(place / "bert", data=place / "reviews.csv", lora=2, self_contained=True, out=tmp_path / "r", **QUICK)
    content = bytearray((run.path / "base.safetensors").read_bytes())
    content[-5] ^= 1
    (run.path / "base.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"needs the base\.safetensors that it began with, got .* which changed"):
        cut.load(run.path).predict("a lovely film")
    content[-5] ^= 1
    (run.path / "base.safetensors").write_bytes(content)
    expected = {name: x.clone() for name, x in read_tensors(run.path / "model.safetensors").items()}  # else mapped
    learned = bytearray((run.path / "model.safetensors").read_bytes())
    learned[-5] ^= 1
    (run.path / "model.safetensors").write_bytes(learned)
    with pytest.warns(UserWarning, match="is damaged .* and the run begins again"):
        again = resumed(run.path)
    assert same(read_tensors(again.path / "model.safetensors"), expected)


def test_averages_leave_out_the_base_too(place: Path, tmp_path: Path):
    settings = QUICK | {"checkpoint_every": 3, "ema": 0.9, "lora": 2, "base": str(place / "bert")}
    expect_same_after_death(tmp_path, "tuned-classify", settings | {"data": str(place / "reviews.csv")})


def test_a_base_that_is_gone_changed_or_moved(halted: Path, place: Path, tmp_path: Path):
    run, config = shutil.copytree(halted, tmp_path / "run"), tmp_path / "run" / "config.json"
    about = json.loads(config.read_text())
    about["config"]["base"] = about["data"]["base"]["path"] = about["data"]["files"]["base"] = str(tmp_path / "bert")
    about["data"]["base"] |= {"beside": "nowhere/bert", "given": "nowhere/bert"}
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
