"""Two real processes (torchrun, gloo) take the steps that one would, stop together, and go on in any number."""

import hashlib
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from little import SETTINGS, little_text, same, timeless, weights_of
from safetensors.torch import load_file
from together import train_together

from cutaway.data.batches import Windows
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.runs import execution
from cutaway.training.callbacks import Callback
from cutaway.training.run_folder.interrupts import Stopped

pytestmark = pytest.mark.long

PLAIN: dict[str, Any] = SETTINGS | dict(
    steps=50, evaluate_every=25, checkpoint_every=50, log_every=1, sample_tokens=3, optimizer="adamw", rate=0.003
)
HALF = {"step": 25, "rank": 1, "how": "signal"}  # the second process alone is asked to stop
KINDS = {
    "ddp": PLAIN,
    "fsdp": PLAIN,
    "muon": PLAIN | {"optimizer": "muon", "accumulate": 2, "batch": 2},
    "average": PLAIN | {"ema": 0.9, "design": "gpt2"},
}


class HalfWay(Callback):
    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == 25:
            signal.raise_signal(signal.SIGTERM)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module", autouse=True)
def _no_pages():
    """A report takes seconds to make, and what it shows is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        yield


def train_alone(out: Path, **settings: Any) -> Path:
    return execution.train("gpt", out=out, show="quiet", device="cpu", **settings).path


@pytest.fixture(scope="module")
def text(place: Path) -> dict[str, str]:
    return {"data": str(little_text(place))}


@pytest.fixture(scope="module")
def alone(place: Path, text: dict[str, str]) -> dict[str, Path]:
    """What one process makes of each kind; and one that was stopped half-way, twice."""
    made = {kind: train_alone(place / f"alone-{kind}", **settings, **text) for kind, settings in KINDS.items()}
    with pytest.raises(Stopped):
        train_alone(place / "one-half", callbacks=[HalfWay()], **PLAIN, **text)
    shutil.copytree(place / "one-half", place / "one-half-fsdp")
    return made


@pytest.fixture(scope="module")
def noted(place: Path, text: dict[str, str], alone: dict[str, Path]) -> list[dict[str, dict[str, Any]]]:
    """What the two processes noted of all the runs below: by process, then by run."""
    strategies = {"fsdp": {"strategy": "fsdp"}}
    dropping = PLAIN | {"dropout": 0.1, "design": "gpt2", "ema": 0.9, "patience": 50, "steps": 30}
    other = place / "other.txt"
    other.write_text("the dog sat on the cat\n" * 60, encoding="utf-8")
    broken = {"recipe": "broken", **SETTINGS, "optimizer": "adamw"}
    jobs: dict[str, dict[str, Any]] = {kind: KINDS[kind] | strategies.get(kind, {}) for kind in KINDS}
    jobs |= {
        "half-ddp": PLAIN | {"disturb": HALF},
        "half-fsdp": PLAIN | {"disturb": HALF, "strategy": "fsdp"},
        "one-half": {"resume": True},
        "one-half-fsdp": {"resume": True, "strategy": "fsdp"},
        "dropping": dropping,
        "dropping-half": dropping | {"disturb": HALF},
        "stopped": PLAIN | {"disturb": {"step": 7, "rank": 1, "how": "stop"}},
        "broken": broken,
        "broken-fsdp": broken | {"strategy": "fsdp"},
        "idle": {"recipe": "idle", **SETTINGS},
        "odd": PLAIN | {"batch": 3},
        "muon-fsdp": PLAIN | {"optimizer": "muon", "strategy": "fsdp"},
        "average-fsdp": PLAIN | {"ema": 0.9, "strategy": "fsdp"},
        "numbered": PLAIN | {"device": "cpu:0"},
        "different": PLAIN | {"data": [text["data"], str(other)]},
    }
    again = {
        "dropping-half-again": {"resume": True, "out": str(place / "dropping-half")},
        "lost": {"out": str(place / "lost"), **PLAIN, **text, "disturb": {"step": 5, "rank": 1, "how": "fail"}},
    }
    told = [{"out": str(place / name), **({} if "resume" in job else text), **job} for name, job in jobs.items()]
    both = train_together(place, [*told, *again.values()])
    return [dict(zip([*jobs, *again], own, strict=True)) for own in both]


def losses(run: Path, split: str = "train") -> list[float]:
    return [line["loss"] for line in timeless(run) if line["split"] == split]


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_take_the_steps_of_one(kind: str, place: Path, alone: dict[str, Path], noted: Any):
    assert len(losses(place / kind)) == 50
    for split in ("train", "validation", "validation-whole"):
        assert losses(place / kind, split) == pytest.approx(losses(alone[kind], split), abs=1e-4), split
    ours, theirs = weights_of(place / kind), weights_of(alone[kind])
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-3, atol=1e-3)


def test_a_folder_of_many_is_that_of_one(place: Path, alone: dict[str, Path], noted: Any):
    for kind in KINDS:
        files = [sorted(str(p.relative_to(run)) for p in run.rglob("*")) for run in (place / kind, alone[kind])]
        assert files[0] == files[1]
        for name in ("weights", "optimizer", "best"):
            ours, theirs = (
                load_file(run / "state" / "step-50" / f"{name}.safetensors") for run in (place / kind, alone[kind])
            )
            assert {k: (v.shape, v.dtype) for k, v in ours.items()} == {
                k: (v.shape, v.dtype) for k, v in theirs.items()
            }
    about = json.loads((place / "fsdp" / "config.json").read_text(encoding="utf-8"))
    assert (about["processes"], about["strategy"], about["threads"]) == (2, "fsdp", 1)
    assert execution.load(place / "fsdp").generate("the", tokens=3)


def test_both_begin_with_the_same_weights_and_return_the_run(place: Path, noted: Any):
    assert noted[0]["ddp"]["weights"] == noted[1]["ddp"]["weights"]
    assert noted[0]["ddp"]["path"] == noted[1]["ddp"]["path"] == str(place / "ddp")


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_a_signal_to_one_stops_both_after_one_checkpoint(strategy: str, place: Path, noted: Any):
    for own in noted:
        found = own[f"half-{strategy}"]
        assert (found["step"], found["code"]) == (25, 128 + signal.SIGTERM)
        assert "stopped after step 25 of 50; to go on: cutaway train gpt --resume --out" in found["error"]


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_what_two_began_one_ends(strategy: str, place: Path, alone: dict[str, Path], noted: Any):
    with pytest.warns(UserWarning, match="begun with processes 2 and goes on with 1: not the same, bit for bit"):
        train_alone(place / f"half-{strategy}", resume=True)
    assert losses(place / f"half-{strategy}") == pytest.approx(losses(alone["ddp"]), abs=1e-4)


@pytest.mark.parametrize("name", ["one-half", "one-half-fsdp"])
def test_what_one_began_two_end(name: str, place: Path, alone: dict[str, Path], noted: Any):
    assert losses(place / name) == pytest.approx(losses(alone["ddp"]), abs=1e-4)
    assert (place / name / "report.html").is_file()


def test_two_drop_different_units_and_go_on_bit_for_bit(place: Path, noted: Any):
    """Dropout, an average and early stopping; stopped after 25 steps of 30 and resumed by two again."""
    assert noted[0]["dropping"]["stream"] != noted[1]["dropping"]["stream"]
    for own in noted:
        assert own["dropping-half-again"]["stream"] == own["dropping"]["stream"]
    assert timeless(place / "dropping-half") == timeless(place / "dropping")
    assert same(weights_of(place / "dropping-half"), weights_of(place / "dropping"))
    states = load_file(place / "dropping" / "state" / "step-30" / "random.safetensors")
    assert sorted(states) == ["cpu", "cpu-1"]


def test_a_callback_of_one_process_stops_both(place: Path, noted: Any):
    for own in noted:
        assert (own["stopped"]["step"], own["stopped"]["why"]) == (7, "a callback of one process said so")
    assert len(losses(place / "stopped")) == 7


@pytest.mark.parametrize("name", ["broken", "broken-fsdp"])
def test_a_nan_in_one_process_stops_both_with_its_batch(name: str, place: Path, text: dict[str, str], noted: Any):
    errors = [own[name]["error"] for own in noted]
    assert errors[0] == errors[1]
    assert "at step 3 the loss is nan, first broken by the objective; its batch is in" in errors[0]
    kept = load_file(place / name / "failed" / "step-3" / "batch-0.safetensors")
    recipe = GPTRecipe(**SETTINGS, **text)
    second = Windows(recipe.read().parts.train, recipe.context, recipe.batch, recipe.seed, rank=1, world=2)
    assert kept["tokens"].tolist() == second.at(3).tokens.tolist()


def test_a_parameter_that_nothing_uses_is_not_waited_for(place: Path, noted: Any):
    assert [(own["idle"]["step"], own["idle"].get("error")) for own in noted] == [(12, None)] * 2
    assert weights_of(place / "idle")["idle"].tolist() == [[1.0, 1.0], [1.0, 1.0]]


MESSAGES = {
    "odd": "ValueError: batch must be a multiple of world, got batch=3, world=2; try batch=2 or batch=4",
    "muon-fsdp": "ValueError: Muon takes whole matrices, got the shares of them that strategy=fsdp leaves to a "
    "process; use --optimizer adamw, or --strategy ddp",
    "average-fsdp": "ValueError: an average of the weights is a whole model, got ema=0.9 with strategy=fsdp, which "
    "leaves a share of it to each process; use --ema 0, or --strategy ddp",
    "numbered": "ValueError: several processes take a device each, of cpu or cuda, got device='cpu:0'; leave the "
    "number out, or leave it at auto",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_cannot_be_shared_is_refused_in_a_sentence(name: str, place: Path, noted: Any):
    assert [own[name]["error"] for own in noted] == [MESSAGES[name]] * 2
    assert not (place / name).exists()


def test_all_must_read_the_same_data(place: Path, text: dict[str, str], noted: Any):
    digests = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in (text["data"], place / "other.txt")]
    told = ", ".join(f"{digest[:12]} in process {rank}" for rank, digest in enumerate(digests))
    sentence = f"ValueError: all processes must read the same data, got digests {told}; copy one file to every machine"
    assert [own["different"]["error"] for own in noted] == [sentence] * 2


def test_one_that_fails_leaves_no_other_waiting(noted: Any):
    assert noted[1]["lost"]["error"] == "ValueError: numbers must be even, got 7; try 8"
    assert noted[0]["lost"]["error"].startswith(
        "ConnectionError: the processes of a run need one another, and process 0 lost one ("
    )
