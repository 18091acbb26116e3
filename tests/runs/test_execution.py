"""`cut.train` and `cut.load`: what a run leaves behind, going on with it, and what stands in the way."""

import dataclasses
import json
import os
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from killing import start
from little import SETTINGS, little_job, little_text, same, timeless, weights_of
from safetensors.torch import load_file

import cutaway as cut
from cutaway.recipes.base import Recipe
from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.runs import execution
from cutaway.tasks.texts.next_token import NextToken, NextTokenLearner
from cutaway.training.callbacks import Callback
from cutaway.training.failures import DivergenceError
from cutaway.training.run_folder import checkpoints
from cutaway.training.run_folder.checkpoints import FolderError
from cutaway.training.run_folder.folder import RunFolder


@pytest.fixture(autouse=True)
def _quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a cache of its own, and no page at the end: that takes seconds, and has its own test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return little_text(tmp_path)


def train(text: Path, **more: Any) -> Any:
    return cut.train("gpt", data=text, show="quiet", **SETTINGS | more)


class Interrupt(Callback):
    """Breaks a run off after a step."""

    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == self.at:
            raise ConnectionResetError


def broken_off(text: Path, at: int = 7, **more: Any) -> Path:
    with pytest.raises(ConnectionResetError):
        train(text, out="run", callbacks=[Interrupt(at)], **more)
    return Path("run")


def test_a_run_is_a_folder(text: Path):
    run = train(text)
    assert run.path == Path("runs/gpt-1")
    held = {p.name for p in run.path.iterdir()} - {".lock"}
    assert held == {
        "checksums.json",
        "config.json",
        "metrics.jsonl",
        "model.safetensors",
        "tokenizer.json",
        "samples",
        "report.html",
        "state",
    }
    about = json.loads((run.path / "config.json").read_text())
    assert about["version"] == 1
    assert about["recipe"] == "gpt"
    assert about["config"]["steps"] == 12
    assert about["spec"]["width"] == 16
    assert len(about["data"]["fingerprint"]["digest"]) == 64
    assert about["threads"] == torch.get_num_threads()
    assert about["torch"] == torch.__version__
    assert (run.path / "state" / "latest").read_text() == "step-12\n"
    assert {p.name for p in (run.path / "state").glob("step-*")} == {"step-9", "step-12"}


def test_the_public_face(text: Path):
    run = train(text)
    assert isinstance(run.model, cut.models.GPT)
    assert not run.model.training
    assert run.config.steps == 12
    assert run.config == run.recipe
    assert run.metrics[0] == {"step": 0, "split": "validation", "loss": pytest.approx(3.2, abs=0.5)}
    first = run.generate("the ", tokens=5, seed=1, temperature=0.8)
    assert first == cut.load(run.path).generate("the ", tokens=5, seed=1, temperature=0.8)
    assert len(first) == 5
    assert repr(run) == "Run('runs/gpt-1', gpt, step 12 of 12)"
    assert cut.load("runs/gpt-1").samples.keys() == {"text.txt"}
    assert list(run.all_samples) == [4, 8, 12]


def test_training_learns(text: Path):
    metrics = train(text, steps=60, evaluate_every=60).metrics
    losses = [row["loss"] for row in metrics if row["split"] == "validation"]
    assert losses[-1] < 0.8 * losses[0]


def test_the_same_settings_give_the_same_run(text: Path):
    assert same(weights_of(train(text).path), weights_of(train(text).path))
    assert timeless(Path("runs/gpt-1")) == timeless(Path("runs/gpt-2"))


def test_the_callers_random_numbers_and_threads_are_left_alone(text: Path):
    torch.manual_seed(3)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    train(text)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_a_recipe_may_be_given_whole(text: Path):
    run = cut.train(GPTRecipe(data=str(text), **SETTINGS), show="quiet", steps=3)
    assert run.config.steps == 3


def test_presets(text: Path):
    run = cut.train("gpt", preset="small", data=text, show="quiet", **SETTINGS)
    assert (run.config.validation, run.config.test) == (0.1, 0.0)
    with pytest.raises(ValueError, match="a preset is for a recipe by name, got preset='small' with settings"):
        cut.train(GPTRecipe(), preset="small")


@dataclass(frozen=True)
class LineRecipe(Recipe):
    """An own recipe: a net on points."""

    name: ClassVar[str] = "line"
    steps: int = 3

    def job(self, rank: int = 0, world: int = 1) -> Any:
        return little_job()

    def open_model(self, config: dict[str, Any]) -> Any:
        return little_job().model


def test_an_own_recipe_trains_and_loads_again():
    run = cut.train(LineRecipe(), show="quiet")
    assert run.path == Path("runs/line-1")
    assert same(dict(cut.load("runs/line-1").model.state_dict()), weights_of(run.path))
    assert run.tokenizer is None
    with pytest.raises(ValueError, match="a run of 'line' cannot generate text; `cutaway list abilities"):
        run.generate("a")


def test_an_average_and_the_best_are_what_a_run_ends_with(text: Path):
    plain, mean = train(text, final="last"), train(text, final="last", ema=0.9)
    assert not same(weights_of(plain.path), weights_of(mean.path))
    assert same(weights_of(mean.path), load_file(mean.path / "state/step-12/callback-Averaging.safetensors"))
    assert same(weights_of(plain.path), load_file(plain.path / "state/step-12/weights.safetensors"))
    best = train(text)
    assert same(weights_of(best.path), load_file(best.path / "state/step-12/best.safetensors"))


def test_a_run_that_was_broken_off_goes_on(text: Path):
    straight = train(text, out="straight")
    broken_off(text)
    run = cut.train("gpt", out="run", resume=True, show="quiet")
    assert same(weights_of(straight.path), weights_of(run.path))
    assert timeless(straight.path) == timeless(run.path)


def test_ctrl_c_says_how_to_go_on(text: Path):
    class Press(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            if loop.step == 4:
                os.kill(os.getpid(), signal.SIGINT)

    told = "stopped after step 4 of 12; to go on: cutaway train gpt --resume --out 'my run; \\(1\\)'$"
    with pytest.raises(KeyboardInterrupt, match=told):
        train(text, out="my run; (1)", callbacks=[Press()])
    assert cut.train("gpt", out="my run; (1)", resume=True, show="quiet").finished


def test_an_unfinished_run_answers_with_its_newest_weights_and_says_so(text: Path):
    """Stopped before the first evaluation after step 0: the best weights so far are those that nothing has trained."""
    path = broken_off(text, evaluate_every=12)
    run = cut.load(path)
    assert not run.finished
    assert "step 6 of 12" in repr(run)
    told = "run is not finished .step 6 of 12.: these are its newest weights; to go on: cutaway train gpt --resume"
    with pytest.warns(UserWarning, match=told):
        assert same(dict(run.model.state_dict()), load_file(path / "state/step-6/weights.safetensors"))
    assert not same(dict(run.model.state_dict()), load_file(path / "state/step-6/best.safetensors"))
    assert len(run.generate("the ", tokens=3)) == 3


def test_a_run_without_a_checkpoint_cannot_be_used(text: Path):
    with pytest.raises(ConnectionResetError):
        train(text, out="so young", callbacks=[Interrupt(1)])
    told = r"a run needs a checkpoint to be used, got so young without one; to go on: .* --resume --out 'so young'"
    with pytest.raises(ValueError, match=told):
        cut.load("so young").model  # noqa: B018


@pytest.mark.filterwarnings("ignore:.*is not finished")
def test_the_test_split_waits_until_the_run_is_finished(text: Path):
    path = broken_off(text)
    told = (
        r"when a run is finished, but run is not finished \(step 6 of 12\); to go on: .* or read it now: --unfinished"
    )
    with pytest.raises(ValueError, match=told):
        cut.load(path).test()
    assert not (path / "test.json").exists()
    assert cut.load(path).test(unfinished=True)["loss"] > 0
    assert cut.load(path).test(unfinished=True) == json.loads((path / "test.json").read_text())["metrics"]


def test_a_run_that_stopped_early_is_finished(text: Path):
    run = train(text, patience=1, evaluate_every=1, rate=1e-12, muon_rate=1e-12, final="last")
    assert run.metrics[-1]["step"] < 12
    assert run.finished
    assert run.test()["loss"] > 0


def test_a_finished_run_is_left_as_it_is(text: Path):
    run = train(text, out="run")
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file() and p.name != ".lock"}
    text.unlink()  # not even its data is looked at
    again = cut.train("gpt", out="run", resume=True, show="quiet")
    assert again.metrics == run.metrics
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file() and p.name != ".lock"} == before


def test_a_finished_run_without_its_report_gets_it(text: Path):
    run = train(text, out="run")
    (run.path / "report.html").unlink()
    cut.train("gpt", out="run", resume=True, show="quiet")
    assert (run.path / "report.html").exists()


class Do(Callback):
    """Does something to the run after a step, or at the evaluation or checkpoint of it."""

    def __init__(self, at: int, act: Any, moment: str = "step") -> None:
        self.at, self.act = at, act
        setattr(self, moment, self._now)

    def _now(self, loop: Any, *_: Any) -> None:
        if loop.step == self.at:
            self.act()


MOMENTS = [(7, "step"), (8, "evaluate"), (9, "step"), (9, "checkpoint"), (12, "checkpoint"), (12, "step")]


@pytest.mark.parametrize(("at", "moment"), MOMENTS)
@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_a_folder_that_goes_away_loses_nothing(how: str, at: int, moment: str, text: Path, tmp_path: Path):
    """In the middle of a step, an evaluation or a checkpoint, or before the weights are written."""
    straight = train(text, out="straight")
    act = (lambda: os.rename("run", "else where")) if how == "moved" else (lambda: shutil.rmtree("run"))
    place = "else where" if how == "moved" else "run-rescued-1"
    told = rf"must stay where it is while it trains, but run was {how}.*; to go on: cutaway train gpt --resume --out .*"
    with pytest.raises(FolderError, match=told + place):
        train(text, out="run", callbacks=[Do(at, act, moment)])
    assert not Path("run").exists()
    run = cut.train("gpt", out=place, resume=True, show="quiet")
    assert run.finished
    assert same(weights_of(straight.path), weights_of(run.path))
    assert timeless(straight.path) == timeless(run.path)


def test_a_folder_that_another_took_is_left_to_it(text: Path):
    def replace() -> None:
        shutil.rmtree("run")
        Path("run").mkdir()
        Path("run/notes").write_text("mine")

    with pytest.raises(FolderError, match=r"run was deleted, or moved to another disk; .* saved in run-rescued-1"):
        train(text, out="run", callbacks=[Do(5, replace)])
    assert [p.name for p in Path("run").iterdir()] == ["notes"]


def test_changed_data_is_noticed(text: Path):
    broken_off(text)
    text.write_text(text.read_text().replace("cake", "pie "))
    with pytest.raises(ValueError, match=r"must have the data that it began with, got .*little\.txt of 4,0"):
        cut.train("gpt", out="run", resume=True, show="quiet")
    kept = json.loads((Path("run/state/step-6/state.json")).read_text())
    assert Path("run/metrics.jsonl").stat().st_size >= kept["metrics_bytes"]  # nothing was cut


def test_touched_data_is_not_changed_data(text: Path):
    broken_off(text)
    os.utime(text, (0, 0))
    assert cut.train("gpt", out="run", resume=True, show="quiet").finished


def test_data_may_have_moved(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken_off(Path("little.txt"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # the path was relative; where it led is in the config
    with pytest.raises(ConnectionResetError):
        cut.train("gpt", out="../run", resume=True, show="quiet", callbacks=[Interrupt(9)])
    moved = text.rename(tmp_path / "elsewhere" / "moved.txt")
    with pytest.raises(ValueError, match=r"data must be a file, a folder or a sample, got 'little.txt'"):
        cut.train("gpt", out="../run", resume=True, show="quiet")
    run = cut.train("gpt", out="../run", resume=True, show="quiet", data=moved)
    assert run.finished
    assert run.test()["loss"] > 0  # found again


def test_settings_stay(text: Path):
    broken_off(text)
    with pytest.raises(
        ValueError, match=r"keeps its settings, got steps=99, rate=0.1 where it has steps=12, rate=0.01;"
    ):
        cut.train("gpt", out="run", resume=True, show="quiet", steps=99, rate=0.1)
    with pytest.raises(
        ValueError, match=r"got width=128, depth=4, heads=4, context=64, .* where it has width=16, depth=1"
    ):
        cut.train("gpt", out="run", resume=True, show="quiet", preset="small")
    with pytest.raises(ValueError, match="a setting must be one that the recipe has, got 'step'"):
        cut.train("gpt", out="run", resume=True, show="quiet", step=12)
    assert cut.train("gpt", out="run", resume=True, show="quiet", steps=12).finished  # the same is no change


def test_resuming_needs_a_run_of_that_recipe(text: Path):
    with pytest.raises(ValueError, match="resuming needs the run's folder, got none; add --out runs/NAME"):
        cut.train("gpt", resume=True)
    with pytest.raises(ValueError, match=r"a run is a folder with config.json, got nowhere without one"):
        cut.train("gpt", resume=True, out="nowhere")
    cut.train(LineRecipe(), show="quiet", out="line")
    with pytest.raises(
        ValueError,
        match="a run resumes by its own recipe, got 'gpt' for a run of 'line'; use `cutaway train line --resume",
    ):
        cut.train("gpt", resume=True, out="line")


def test_the_thread_count_is_the_runs(text: Path, monkeypatch: pytest.MonkeyPatch):
    path = broken_off(text)
    about = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(about | {"threads": 2}))
    seen: list[int] = []

    class Watch(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            seen.append(torch.get_num_threads())

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        cut.train("gpt", out="run", resume=True, show="quiet", callbacks=[Watch()])
        assert set(seen) == {2}
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_another_torch_is_noted(text: Path):
    path = broken_off(text)
    about = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(about | {"torch": "2.0.0"}))
    with pytest.warns(UserWarning, match="was begun with torch 2.0.0 and goes on with .*: not the same, bit for bit"):
        cut.train("gpt", out="run", resume=True, show="quiet")


def test_a_folder_is_for_one_run_at_a_time(text: Path, tmp_path: Path):
    path = broken_off(text)
    held = RunFolder.reopen(path)
    with pytest.raises(ValueError, match=f"one run at a time, got run, in use by process {os.getpid()}"):
        cut.train("gpt", out="run", resume=True, show="quiet")
    # a real second process, while this one holds the folder
    process = start(path.resolve(), str(tmp_path / "cache"), True, "", {})
    process.join()
    assert process.exitcode == 1
    held.release()
    assert cut.train("gpt", out="run", resume=True, show="quiet").finished


def test_a_folder_that_holds_a_run_is_refused_before_any_work(text: Path, monkeypatch: pytest.MonkeyPatch):
    train(text, out="run")
    monkeypatch.setattr(GPTRecipe, "read", lambda self, base=None: pytest.fail("the text was read"))
    with pytest.raises(ValueError, match="a new run needs a folder of its own, got run, which holds one; add --resume"):
        train(text, out="run")


def test_a_run_that_never_began_leaves_nothing():
    with pytest.raises(ValueError, match=r"data must be a file, a folder or a sample, got 'nowhere.txt'"):
        cut.train("gpt", data="nowhere.txt", show="quiet")
    assert not Path("runs").exists()


def test_a_run_that_diverges(text: Path):
    with pytest.raises(
        DivergenceError, match=r"training needs finite numbers, but at step 1 the .* is (nan|inf), first broken by"
    ):
        train(text, rate=1e38, optimizer="sgd", clip=0.0, out="run")
    assert not cut.load("run").finished


def test_a_run_that_does_not_fit(text: Path):
    with pytest.raises(MemoryError, match=r"must fit into memory.*; lower context=16, width=1073741824"):
        train(text, width=1 << 30, heads=1)
    assert not list(Path("runs").iterdir())


def test_a_full_disk_at_the_very_end_loses_nothing(text: Path, monkeypatch: pytest.MonkeyPatch):
    import errno

    from cutaway.training.run_folder import folder

    straight = train(text, out="straight")
    with monkeypatch.context() as patch:
        full = OSError(errno.ENOSPC, "No space left on device")
        patch.setattr(folder, "write_tensors", lambda *_: (_ for _ in ()).throw(full))
        with pytest.raises(FolderError, match="got none left for run; the last good checkpoint is step-12: make room"):
            train(text, out="run")
    run = cut.train("gpt", out="run", resume=True, show="quiet")
    assert same(weights_of(straight.path), weights_of(run.path))
    assert timeless(straight.path) == timeless(run.path)


@pytest.mark.untyped
def test_a_compiled_run_is_resumed_compiled(text: Path, monkeypatch: pytest.MonkeyPatch):
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: compiled.append(type(self).__name__))
    broken_off(text, compile=True)
    cut.train("gpt", out="run", resume=True, show="quiet")
    assert compiled == ["GPT", "GPT"]


def test_the_test_split_is_read_once(text: Path, monkeypatch: pytest.MonkeyPatch):
    run = train(text)
    first = run.test()
    assert json.loads((run.path / "test.json").read_text())["metrics"] == first
    monkeypatch.setattr(NextToken, "test_metrics", lambda self, learner: pytest.fail("read again"))
    assert cut.load(run.path).test() == first


@pytest.mark.filterwarnings("ignore:.*is not finished")
def test_the_test_split_is_not_for_choosing(text: Path):
    path = broken_off(text)
    cut.load(path).test(unfinished=True)
    run = cut.train("gpt", out="run", resume=True, show="quiet")
    with pytest.raises(
        ValueError, match="the test split is read once, and it was, for other weights of run; to choose"
    ):
        run.test()


def test_the_test_split_of_other_data_is_refused(text: Path):
    run = train(text)
    text.write_text(text.read_text() + "more")
    with pytest.raises(ValueError, match="must have the data that it began with"):
        run.test()


def test_a_run_without_a_test_split_says_so(text: Path):
    with pytest.raises(ValueError, match="test"):
        train(text, test=0.0).test()


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_damaged_weights_are_an_error_until_they_are_written_again(text: Path):
    """A byte of the first tensor, or of the header, or the end of the file."""
    run = train(text, out="run")
    path = run.path / "model.safetensors"
    whole = path.read_bytes()
    told = r"whole safetensors file, got run/model\.safetensors, which was damaged after it was written \(%s\)"
    for place, damage in ((-1, "its checksum is another"), (0, "its header does not read")):
        flip(path, place)
        with pytest.raises(ValueError, match=told % damage):
            cut.load("run").model  # noqa: B018
        with pytest.raises(ValueError, match=told % damage):
            cut.load("run").test()
        path.write_bytes(whole)
    path.write_bytes(whole[:-5])
    with pytest.raises(ValueError, match=told % f"it has {len(whole) - 5:,} bytes where {len(whole):,} were written"):
        cut.load("run").model  # noqa: B018
    assert not cut.load("run").finished
    cut.train("gpt", out="run", resume=True, show="quiet")
    assert path.read_bytes() == whole
    flip(path, -1)
    with pytest.warns(UserWarning, match="is damaged .its checksum is another. and written again from the last check"):
        cut.train("gpt", out="run", resume=True, show="quiet")
    assert path.read_bytes() == whole


def test_a_damaged_checkpoint_is_passed_over(text: Path):
    straight = train(text, out="straight")
    path = broken_off(text)
    flip(path / "state/step-6/weights.safetensors", -1)
    with pytest.warns(UserWarning, match="state/step-6 is damaged .*: step 3 is used in its place"):
        run = cut.train("gpt", out="run", resume=True, show="quiet")
    assert same(weights_of(straight.path), weights_of(run.path))
    assert timeless(straight.path) == timeless(run.path)


def test_a_damaged_tokenizer_is_an_error(text: Path):
    run = train(text, out="run")
    flip(run.path / "tokenizer.json", -3)
    with pytest.raises(ValueError, match=r"needs the tokenizer\.json that it began with, got .*, which changed"):
        cut.load("run").generate("the", tokens=2)


def test_a_damaged_log_of_a_finished_run_is_an_error(text: Path):
    run = train(text, out="run")
    log, whole = run.path / "metrics.jsonl", (run.path / "metrics.jsonl").read_bytes()
    first = whole.index(b"\n") + 1
    told = r"metrics\.jsonl must be as it was when the run ended, got run, whose metrics\.jsonl has .*; take it from"
    for damaged in (whole[:first], whole[first:], whole + whole[:first], whole.replace(b"1", b"2")):
        log.write_bytes(damaged)
        with pytest.raises(ValueError, match=told):
            cut.load("run")
        with pytest.raises(ValueError, match=told):
            assert run.metrics
        with pytest.raises(ValueError, match=told):
            repr(run)
    log.write_bytes(whole[first:])  # what the checkpoints vouch for is damaged too
    with pytest.raises(ValueError, match=told):
        cut.train("gpt", resume=True, out="run", show="quiet")
    log.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])  # the line after the last checkpoint is made anew
    with pytest.warns(UserWarning, match="what run logged after its last checkpoint is damaged .* and written again"):
        cut.train("gpt", resume=True, out="run", show="quiet")
    assert log.read_bytes() == whole
    assert len(cut.load("run").metrics) == whole.count(b"\n")


def test_a_damaged_log_of_an_unfinished_run_is_an_error(text: Path):
    path = broken_off(text)
    log = path / "metrics.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"step": 2', b'"step": 1', 1))
    with pytest.raises(ValueError, match=r"logged before the checkpoint, got other lines in run; take it from a copy"):
        cut.train("gpt", resume=True, out="run", show="quiet")


def test_damaged_samples_and_results_are_errors(text: Path):
    run = train(text, out="run")
    sample = next((run.path / "samples").iterdir())
    whole = sample.read_bytes()
    (run.path / "samples" / "step-of-mine").write_text("a file of yours")
    assert run.samples
    for damaged in (whole[:-1], whole + b"x", b"\xff" + whole[1:]):
        sample.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"samples/{sample.name} must be as it was when the run ended, got run"):
            assert run.all_samples
    sample.unlink()
    with pytest.raises(ValueError, match=f"whose samples/{sample.name} is missing; take it from a copy"):
        assert run.samples
    run.test()
    results = run.path / "test.json"
    results.write_text(re.sub(r'(": \d)', r"\g<1>1", results.read_text()))
    with pytest.raises(ValueError, match=r"test\.json must be as it was written, got run/test\.json, which changed"):
        run.test()


def test_a_changed_config_is_noted(text: Path):
    run = train(text, out="run")
    change(run.path, torch="2.0.0")
    with pytest.warns(UserWarning, match="config.json changed after the run ended, and is used as it is now; if that"):
        assert cut.load("run").model is not None


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("files",), 7, r"needs an object as 'files', got 7"),
        (("files", "tokenizer.json"), [1], r"needs a text as 'tokenizer.json', got \[1\]"),
        (("data", "files"), 1.5, r"needs an object as 'files', got 1.5"),
        (("data", "path"), ["x"], r"needs a text as 'path', got \['x'\]"),
        (("data", "summary"), {}, r"needs a text as 'summary', got {}"),
        (("data", "fingerprint"), "x", r"needs an object as 'fingerprint', got 'x'"),
        (("spec",), 3, r"needs an object as 'spec', got 3"),
    ],
)
def test_a_config_of_other_shapes_is_told(text: Path, place: tuple[str, ...], value: Any, told: str):
    run = train(text, out="run")
    config = json.loads((run.path / "config.json").read_text())
    inner = config
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    (run.path / "config.json").write_text(json.dumps(config))
    for use in (lambda: cut.load("run"), lambda: cut.train("gpt", resume=True, out="run", show="quiet")):
        with pytest.raises(ValueError, match=f"config.json {told} in .*; take the file from a copy"):
            use()


def test_what_fails_for_a_changed_config_is_told_as_that(text: Path, monkeypatch: pytest.MonkeyPatch):
    run = train(text, out="run")

    def trips(*_: Any, **__: Any) -> None:
        raise AttributeError("'list' object has no attribute 'items'")

    monkeypatch.setattr(NextTokenLearner, "generate", trips)
    with pytest.raises(AttributeError):  # a fault of ours stays one
        run.generate("the")
    change(run.path, data={"likelihood": []})
    with pytest.raises(ValueError, match=r"config\.json must be as it was .*, which changed and can no longer be used"):
        run.generate("the")


def test_runs_without_checksums_load_as_before(text: Path):
    run = train(text, out="run")
    (run.path / "checksums.json").unlink()
    for checkpoint in (run.path / "state").glob("step-*"):
        (checkpoint / "metrics.json").unlink()
        (checkpoint / "checksums.json").unlink()
    assert cut.load("run").metrics == run.metrics
    (run.path / "model.safetensors").unlink()
    cut.train("gpt", resume=True, out="run", show="quiet")
    assert cut.load("run").finished


@pytest.mark.parametrize("moment", ["write_checksums", "write_text"])
def test_a_folder_moved_in_the_middle_of_a_checkpoint_leaves_nothing_behind(
    text: Path, moment: str, monkeypatch: pytest.MonkeyPatch
):
    real = getattr(checkpoints, moment)

    def moving(*given: Any, **how: Any) -> None:
        if Path("run").exists() and checkpoints.checkpoint_steps(Path("run")):
            os.rename("run", "moved")
        real(*given, **how)

    monkeypatch.setattr(checkpoints, moment, moving)
    with pytest.raises(FolderError, match=r"but run was moved to .*moved; to go on: cutaway train gpt --resume"):
        train(text, out="run")
    assert not Path("run").exists()
    assert not list(Path("moved").rglob("*.part"))
    latest = Path("moved", "state", "latest").read_text().strip()
    assert checkpoints.find_checkpoint_damage(Path("moved", "state", latest)) == ""
    monkeypatch.setattr(checkpoints, moment, real)
    assert cut.train("gpt", resume=True, out="moved", show="quiet").finished


def test_a_damaged_cache_is_made_anew(text: Path, tmp_path: Path):
    first = train(text)
    (tokens,) = (tmp_path / "cache").rglob("train.bin")
    whole = tokens.read_bytes()
    flip(tokens, 0)
    assert same(weights_of(first.path), weights_of(train(text).path))
    assert tokens.read_bytes() == whole


def change(path: Path, **fields: Any) -> None:
    about = json.loads((path / "config.json").read_text())
    about |= {name: value for name, value in fields.items() if value is not None}
    for name in (name for name, value in fields.items() if value is None):
        del about[name]
    (path / "config.json").write_text(json.dumps(about))


MISFITS: dict[str, tuple[Any, str]] = {
    "threads": (
        lambda run: change(run, threads=None),
        "needs a whole number as 'threads', got none in run/config.json",
    ),
    "device": (lambda run: change(run, device=5), "needs a text as 'device', got 5"),
    "spec": (lambda run: change(run, spec=None), "got as 'spec' in run/config.json none; take the file from a copy"),
    "vocabulary": (
        lambda run: change(run, spec=json.loads((run / "config.json").read_text())["spec"] | {"vocabulary": 7}),
        "got as 'spec' in run/config.json vocabulary=7 where they make 26",
    ),
    "setting": (
        lambda run: change(run, config={"stepss": 3}),
        "the settings in run/config.json must be those of a recipe: .*got 'stepss'; did you mean steps",
    ),
    "width": (
        lambda run: change(run, config=json.loads((run / "config.json").read_text())["config"] | {"width": 20}),
        "got as 'spec' in run/config.json width=16 where they make 20",
    ),
    "tokenizer": (lambda run: (run / "tokenizer.json").unlink(), "needs the tokenizer.json .* got run without it"),
    "optimizer": (
        lambda run: [path.unlink() for path in (run / "state").glob("step-*/optimizer.safetensors")],
        "a run needs a sound checkpoint .*optimizer.safetensors is missing",
    ),
    "metrics": (
        lambda run: (run / "metrics.jsonl").write_bytes(b""),
        "metrics.jsonl must hold what was logged before the checkpoint, got 0 bytes of",
    ),
}


@pytest.mark.parametrize("what", MISFITS)
def test_what_is_missing_or_misfits_is_found_before_training_goes_on(what: str, text: Path):
    path = broken_off(text)
    damage, told = MISFITS[what]
    damage(path)
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file() and p.name != ".lock"}
    with pytest.raises(ValueError, match=told):
        cut.train("gpt", out="run", resume=True, show="quiet")
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file() and p.name != ".lock"} == before


def test_a_tokenizer_with_other_tokens_is_refused(text: Path):
    """In a run made before there were checksums."""
    from cutaway.data.text.tokenizers import Characters

    run = train(text, out="run")
    change(run.path, files=None)
    Characters("abc").save(run.path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"got 3 in tokenizer.json and \d+ in config.json of run; take both"):
        cut.load("run").model  # noqa: B018


def test_weights_of_another_model_are_refused_in_a_line(text: Path):
    run, other = train(text, out="run"), train(text, out="other", width=20)
    (run.path / "model.safetensors").write_bytes((other.path / "model.safetensors").read_bytes())
    with pytest.raises(
        ValueError, match=r"got run/model.safetensors with \S+ of shape .*20.* where the model has .*16"
    ):
        cut.load("run").model  # noqa: B018


def test_no_pickle_is_read_or_written(text: Path, monkeypatch: pytest.MonkeyPatch):
    import pickle

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, lambda *_, **__: pytest.fail("a pickle"))
    path = broken_off(text)
    run = cut.train("gpt", out=path, resume=True, show="quiet")
    run.generate("the", tokens=2)
    assert dataclasses.asdict(run.config)["steps"] == 12


@pytest.mark.untyped
@pytest.mark.parametrize("path", [None, 3, b"runs", ["runs"], {}, True])
def test_a_run_is_a_path(path: Any):
    with pytest.raises(
        ValueError, match=re.escape(f"a run must be the path of its folder, got {path!r}; try cut.load(")
    ):
        execution.load(path)


@pytest.mark.untyped
def test_what_cannot_be_trained():
    for recipe in (None, 3, b"gpt", ["gpt"]):
        with pytest.raises(ValueError, match=re.escape(f"a recipe must be a name or a Recipe, got {recipe!r}; try")):
            execution.train(recipe)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"out must be the path of a folder, got 3; try out='runs/gpt-1'"):
        execution.train("gpt", out=3)  # type: ignore[arg-type]


@pytest.mark.untyped
def test_a_report_that_cannot_be_drawn_is_a_warning(monkeypatch: pytest.MonkeyPatch):
    from cutaway.look.pages.renderer import RendererError

    def cannot(run: Any) -> None:
        raise RendererError("no room")

    monkeypatch.setattr(execution, "report_run", cannot)
    with pytest.warns(UserWarning, match=r"the run is whole, but for its report\.html: no room"):
        execution._report(None)  # type: ignore[arg-type]
