"""One process by itself, and what stands in the way of many."""

import builtins
from pathlib import Path
from typing import Any

import pytest
import torch
from little import Net, little_job, little_loop, little_text

from cutaway.cli import run
from cutaway.runs import execution
from cutaway.training.processes import alone as processes
from cutaway.training.processes.alone import Alone, explain_lost_process, find_processes, is_first, reports_errors
from cutaway.training.processes.many import Many, leaves_some_unused
from cutaway.training.run_folder.folder import ReadOnlyRunFolder, RunFolder
from cutaway.training.run_folder.interrupts import StopSignals


@pytest.fixture
def _second_of_two(monkeypatch: pytest.MonkeyPatch):
    places = {"WORLD_SIZE": 2, "RANK": 1, "LOCAL_WORLD_SIZE": 2, "LOCAL_RANK": 1}
    for name, value in places.items():
        monkeypatch.setenv(name, str(value))


def test_a_process_without_torchrun_is_alone():
    alone = find_processes("auto", "cpu")
    assert type(alone) is Alone
    assert (alone.rank, alone.world, alone.is_first, alone.device) == (0, 1, True, torch.device("cpu"))
    assert is_first()
    assert reports_errors()


def test_one_process_of_torchrun_is_alone_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("RANK", "0")
    assert type(find_processes()) is Alone


def test_a_strategy_is_for_several_processes():
    with pytest.raises(ValueError, match=r"got 'fsdp' with one; start it with torchrun --nproc-per-node 2 -m cutaway"):
        find_processes("fsdp")


def test_a_strategy_is_one_that_there_is():
    with pytest.raises(ValueError, match="strategy must be one of auto, ddp, fsdp, got 'zero'; leave it at auto"):
        find_processes("zero")


def test_alone_everything_is_as_it_is():
    alone, signals = Alone(), StopSignals()
    x = torch.tensor([3.0, 4.0])
    assert alone.norm([x]).item() == 5.0
    assert alone.mean(2.5) == 2.5
    assert list(alone.batches_of_step([1, 2])) == [1, 2]
    assert alone.whole({"x": x})["x"] is alone.share(x, x) is x
    assert alone.all_random_states({"cpu": x}) == alone.own_random_states({"cpu": x}) == {"cpu": x}
    assert (alone.agree_to_stop("", signals), alone.agree_to_stop("enough", signals)) == ("", "enough")
    assert alone.stop_signal(signals) is None
    assert (alone.first(lambda: 1), alone.from_first(3), alone.gather("a")) == (1, 3, ["a"])


def test_a_loop_by_itself_calls_its_model():
    job = little_job()
    loop = little_loop(None, (), job)
    assert loop.processes.called is None
    assert loop._called is job.model


@pytest.mark.usefixtures("_second_of_two")
def test_the_extra_is_missed_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    real = builtins.__import__

    def absent(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.setattr("cutaway.extras.import_module", absent)
    monkeypatch.setenv("RANK", "0")
    told = "training by several processes needs lightning_fabric, which is not installed; run pip install"
    with pytest.raises(ModuleNotFoundError, match=told):
        find_processes()
    assert run(["train", "gpt", "--data", str(little_text(tmp_path)), "--out", str(tmp_path / "run")]) == 2
    assert f"cutaway train: {told} 'cutaway[distributed]'\n" == capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("_second_of_two")
def test_before_they_are_connected_the_first_tells():
    assert not is_first()
    assert not reports_errors()


@pytest.mark.usefixtures("_second_of_two")
def test_a_mistake_that_all_make_is_told_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for rank, said in (("1", ""), ("0", "cutaway train: a recipe must be one of")):
        monkeypatch.setenv("RANK", rank)
        assert run(["train", "gtp"]) == 2
        assert capsys.readouterr().err.startswith(said)


@pytest.mark.usefixtures("_second_of_two")
def test_every_process_needs_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 1)
    told = r"every process needs a GPU of its own, got 2 processes for 1; try --nproc-per-node 1, or --device cpu"
    with pytest.raises(ValueError, match=told):
        Many("ddp", "auto")


@pytest.mark.usefixtures("_second_of_two")
def test_a_lost_process_is_called_so():
    told = "and process 1 lost one .*Connection closed by peer.*; what it said tells why: mend that, then --resume"
    with pytest.raises(ConnectionError, match=told), explain_lost_process():
        raise RuntimeError("[gloo/transport/tcp/pair.cc:547] Connection closed by peer")


@pytest.mark.usefixtures("_second_of_two")
def test_other_faults_stay_what_they_are():
    with pytest.raises(RuntimeError, match="shapes"), explain_lost_process():
        raise RuntimeError("shapes differ")


def test_an_onlooker_writes_nothing(tmp_path: Path):
    folder = ReadOnlyRunFolder(tmp_path / "run")
    folder.write_config({"recipe": "gpt"})
    folder.write_files({"a": lambda path: path.write_text("b")})
    folder.write_weights({"w": torch.zeros(2)})
    folder.write_samples(1, {"text": "Hi"})
    folder.log({"loss": 1.0})
    folder.cut_metrics(0)
    folder.release()
    assert folder.flush_metrics() == 0
    assert not list(tmp_path.iterdir())
    # all that a run's folder can write is here: a new way to write must be left out, too
    writes = {name for name in vars(RunFolder) if name.startswith(("write", "log", "cut", "flush", "release"))}
    assert writes <= set(vars(ReadOnlyRunFolder))


def test_parameters_that_the_objective_leaves_out_are_found_without_a_trace():
    norm = torch.nn.BatchNorm1d(1)
    job = little_job(torch.nn.Sequential(Net(), norm))
    assert not leaves_some_unused(job)
    assert job.model.training
    assert norm.running_mean.item() == 0.0
    assert all(p.grad is None for p in job.model.parameters())
    job.model.idle = torch.nn.Parameter(torch.ones(2))
    assert leaves_some_unused(job)


def test_many_answers_all_that_alone_does():
    own = {name for name in vars(Alone) if not name.startswith("_")} - {
        "rank",
        "world",
        "strategy",
        "is_first",
        "called",
    }
    assert own <= set(vars(Many))


def test_only_the_first_shows_and_draws(monkeypatch: pytest.MonkeyPatch):
    assert execution.is_first is processes.is_first
    asked: list[str] = []
    monkeypatch.setattr(execution, "progress_for", lambda show: asked.append(show) or [])
    monkeypatch.setattr(execution, "find_processes", lambda *_: 1 / 0)
    for rank in ("0", "1"):
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(ZeroDivisionError):
            execution.train("gpt", show="lines")
    assert asked == ["lines", "quiet"]
