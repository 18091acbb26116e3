r"""Training by a recipe, and the runs that come of it.

run = cut.train("gpt", data="my.txt", steps=2000)
run.generate("ROMEO:", tokens=200)
run = cut.load("runs/gpt-1")
"""

import dataclasses
import gc
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from cutaway.checksums import FILE as CHECKSUMS
from cutaway.checksums import find_file_damage
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.stored import find_stored, plain
from cutaway.look.pages.renderer import RendererError
from cutaway.recipes.base import Begun, Recipe, memory_advice
from cutaway.recipes.checks import expect_settings
from cutaway.recipes.index import IMPORTED, find_recipe, register_recipe
from cutaway.recipes.settings import paths
from cutaway.runs.report_page import report_run
from cutaway.runs.run import Run
from cutaway.training.callbacks import Averaging, Callback, EarlyStopping
from cutaway.training.callbacks import refuse_shares as refuse_average
from cutaway.training.devices import find_precision
from cutaway.training.failures import watching_memory
from cutaway.training.flow_log import FlowCallback
from cutaway.training.jobs import Job
from cutaway.training.loop import Loop
from cutaway.training.loop_state import follow_folder
from cutaway.training.optimizers.groups import build_optimizers
from cutaway.training.optimizers.muon import refuse_shares as refuse_muon
from cutaway.training.plans import Plan
from cutaway.training.processes.alone import Alone, explain_lost_process, find_processes, is_first, world
from cutaway.training.progress import is_shown, progress_for
from cutaway.training.run_folder.checkpoints import STATE, latest_checkpoint, named_checkpoint, read_logged
from cutaway.training.run_folder.folder import (
    ReadOnlyRunFolder,
    RunFolder,
    expect_fields,
    expect_final,
    find_final_damage,
    note_changed_config,
    read_config,
    read_metrics,
    resume_command,
    telling_changed_config,
)
from cutaway.training.run_folder.interrupts import Stopped
from cutaway.training.run_folder.weights import find_weights_damage
from cutaway.training.tensorboard import Board
from cutaway.tuning.bases import REFERENCED, expect_base, find_base, place_beside
from cutaway.waiting import telling_waits


class Execution(NamedTuple):
    """Where a run is carried out and who looks on; nothing that changes what is learned."""

    device: str
    strategy: str
    compile: bool
    callbacks: list[Callback]
    shown: bool = True  # whether what takes long is told


def load(path: str | os.PathLike[str]) -> Run:
    """Any run folder. The metrics of a finished run must be as they were when it ended."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"a run must be the path of its folder, got {path!r}; try cut.load('runs/gpt-1')")
    run = Run(path)
    if (run.path / CHECKSUMS).exists():
        read_metrics(run.path)
    base = run.about["data"].get("base") or {}
    if base.get("weights") == REFERENCED and find_base(base, run.path) is None:
        expect_base(base, run.path)  # which says what is missing; whether its weights are the same, the model says
    return run


def train(
    recipe: str | Recipe,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "auto",
    strategy: str = "auto",
    compile: bool = False,
    show: str = "auto",
    tensorboard: bool = False,
    preset: str | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Run:
    """Trains by a recipe and returns the run. ``settings`` are the recipe's own (`cutaway train gpt --help`).

    ``out`` is the run folder (default: the next free one in runs/); with ``resume`` the run in it goes on from its
    newest checkpoint, as if it had never stopped. ``show`` is auto, bar, lines, json or quiet. In processes that
    torchrun started, all of which call this, each takes its share of every batch (docs/many-processes.md); callbacks
    run in all of them, while only the first writes and shows.
    """
    if not isinstance(out, (str, os.PathLike, type(None))):
        raise ValueError(f"out must be the path of a folder, got {out!r}; try out='runs/gpt-1'")
    shown: list[Callback] = progress_for(show if is_first() else "quiet")
    board: list[Callback] = [Board()] if tensorboard and is_first() else []
    execution = Execution(device, strategy, compile, [*callbacks, *board, *shown], is_shown(shown))
    with _left_alone(), explain_lost_process():
        if resume:
            with nullcontext() if out is None else telling_changed_config(Path(out)):
                return _resume(recipe, None if out is None else Path(out), preset, settings, execution)
        return _begin(_chosen(recipe, preset, settings), None if out is None else Path(out), execution)


def _chosen(recipe: str | Recipe, preset: str | None, settings: dict[str, Any]) -> Recipe:
    if isinstance(recipe, str):
        return find_recipe(recipe).make(preset, **settings)
    if not isinstance(recipe, Recipe):
        raise ValueError(f"a recipe must be a name or a Recipe, got {recipe!r}; try cut.train('gpt')")
    if preset:
        raise ValueError(f"a preset is for a recipe by name, got preset={preset!r} with settings; leave one out")
    if type(recipe) is not _known(recipe.name):
        register_recipe(type(recipe))  # so that its run can be loaded again
    return recipe.but(**settings)


def _known(name: str) -> type[Recipe] | None:
    try:
        return find_recipe(name)
    except ValueError:
        return None


def _begin(recipe: Recipe, out: Path | None, execution: Execution) -> Run:
    processes = _processes_for(recipe, execution)
    begun = _read(recipe, processes, execution)
    recipe = begun.recipe
    root = Path("runs")
    folder = _open_folder(
        processes, lambda: RunFolder.create_next(root, recipe.name) if out is None else RunFolder.create(out)
    )
    try:
        find_precision(recipe.precision, processes.device)
        _train_new(begun, folder, processes, execution)
        return _reported(Run(folder.path), processes, execution)
    finally:
        folder.release()


def _train_new(begun: Begun, folder: RunFolder, processes: Alone, execution: Execution) -> None:
    """Trains a new run to its end; what it needs in memory is free again for the report."""
    recipe = begun.recipe
    with watching_memory(recipe.smaller_before()):
        job = _job(begun, processes, execution)
    folder.write_files(job.files)
    folder.write_config(
        {
            "recipe": recipe.name,
            "config": recipe.to_dict(),
            "spec": _spec(job.model),
            "data": job.data | _places(recipe) | _base_beside(job, folder),
            "threads": torch.get_num_threads(),
            "processes": processes.world,
            "strategy": processes.strategy,
            "torch": torch.__version__,
            "device": processes.device.type,
            "compile": execution.compile,
        }
    )
    _carry_out(recipe, job, folder, processes, execution, resume=False)


def _places(recipe: Recipe) -> dict[str, Any]:
    """Where the data and the other files of the settings are, for when the run is opened from another folder."""
    given = {name: os.path.expanduser(getattr(recipe, name)) for name in ["data", *paths(type(recipe))]}
    there = {name: os.path.abspath(path) for name, path in given.items() if path and os.path.exists(path)}
    return {"path": there.pop("data", None), "files": there}


def _base_beside(job: Job, folder: RunFolder) -> dict[str, Any]:
    """What a run is tuned from, with its place seen from the run folder: both may be moved together."""
    base = job.data.get("base")
    return {} if base is None else {"base": base | {"beside": place_beside(base["path"], folder.path)}}


def _processes_for(recipe: Recipe, execution: Execution) -> Alone:
    """This process among others, if the work can be shared out."""
    processes = find_processes(execution.strategy, execution.device)
    if processes.strategy == "fsdp" and recipe.optimizer == "muon":
        refuse_muon()
    if processes.strategy == "fsdp" and recipe.ema:
        refuse_average(recipe.ema)
    return processes


def _open_folder(processes: Alone, make: Callable[[], RunFolder]) -> RunFolder:
    """The run's folder, into which only the first process writes."""
    made: list[RunFolder] = []

    def path_of_made() -> Path:
        made.append(make())
        return made[0].path

    path = processes.first(path_of_made)
    return made[0] if made else ReadOnlyRunFolder(path)


def _read(recipe: Recipe, processes: Alone, execution: Execution) -> Begun:
    """Base and data, read once; settings that depend on them are chosen."""
    waits = telling_waits("reading the data", execution.shown)
    with processes.local_first(), watching_memory(recipe.smaller_before()), waits:
        return recipe.begin()


def _job(begun: Begun, processes: Alone, execution: Execution) -> Job:
    with processes.local_first(), telling_waits("building the model", execution.shown):
        job = begun.job(processes.rank, processes.world)
    if (held := find_stored(begun.recipe.data)) is not None:
        job.files[held.file] = held.write
        job.data |= {"source": held.shown, "stored": held.file}
    processes.expect_same(job.data.get("fingerprint", {}).get("digest"))
    return job


def _resume(
    recipe: str | Recipe, out: Path | None, preset: str | None, settings: dict[str, Any], execution: Execution
) -> Run:
    if out is None:
        raise ValueError("resuming needs the run's folder, got none; add --out runs/NAME")
    about = read_config(out)
    name = recipe if isinstance(recipe, str) else recipe.name
    if not isinstance(recipe, str):
        settings = recipe.fields() | settings
    _expect_recipe(about, out, name)
    expect_settings(find_recipe(name), settings)
    with plain(find_recipe(name), settings, about["config"]) as given:
        return _go_on(about, out, preset, given, execution)


def _go_on(about: dict[str, Any], out: Path, preset: str | None, settings: dict[str, Any], execution: Execution) -> Run:
    _expect_same(about, preset, settings)
    expect_fields(about, {"threads": int, "torch": str, "device": str, "compile": bool}, out / "config.json")
    run = Run(out)
    processes = _processes_for(run.recipe, _as_begun(about, execution))
    folder = _open_folder(processes, lambda: RunFolder.reopen(out))
    try:
        if processes.first(lambda: _is_complete(run)):
            return _reported(run, processes, execution)
        own = dataclasses.replace(run.recipe, **{k: settings[k] for k in run.recipe.may_move if k in settings})
        own.expect_resumable(run)
        if processes.world == about.get("processes", 1):
            torch.set_num_threads(about["threads"])
        if processes.is_first:
            _note_changes(about, processes)
        execution = execution._replace(compile=execution.compile or about["compile"])
        _train_on(run, own, folder, processes, execution)
        return _reported(Run(folder.path), processes, execution)
    finally:
        folder.release()


def _train_on(run: Run, own: Recipe, folder: RunFolder, processes: Alone, execution: Execution) -> None:
    """Trains a run to its end from its newest checkpoint on."""
    about = run.about
    begun = _read(own, processes, execution)
    with watching_memory(own.smaller_before()):
        job = _job(begun, processes, execution)
    _expect_fit(run, job)
    data = about["data"] | _base_beside(job, folder)
    if any(getattr(own, name) != getattr(run.recipe, name) for name in own.may_move):
        data |= _places(own)  # for `cutaway test` and views
    if data != about["data"]:
        folder.write_config(about | {"data": data})
    _carry_out(own, job, folder, processes, execution, resume=True)


def _is_complete(run: Run) -> bool:
    """Whether nothing is left to do. Damaged weights are: the last checkpoint has them."""
    if not run.finished:
        return False
    note_changed_config(run.path)
    weights = run.path / "model.safetensors"
    damage = find_weights_damage(weights)
    if damage:
        rest = "written again from the last checkpoint" if latest_checkpoint(run.path) else "the run begins again"
        warnings.warn(f"{weights} is damaged ({damage}) and {rest}", stacklevel=2)
    elif damage := find_final_damage(run.path, "metrics.jsonl"):
        _expect_logged(run.path)
        warnings.warn(
            f"what {run.path} logged after its last checkpoint is damaged ({damage}) and written again", stacklevel=2
        )
    return not damage


def _expect_logged(folder: Path) -> None:
    """What was logged before the last checkpoint of a finished run must be there: only what came after is made anew."""
    checkpoint = named_checkpoint(folder)
    logged = None if checkpoint is None else read_logged(checkpoint)
    if logged is None or find_file_damage(folder / "metrics.jsonl", logged, beginning=True):
        expect_final(folder, "metrics.jsonl")


def _as_begun(about: dict[str, Any], execution: Execution) -> Execution:
    """Where a run goes on if nothing else is said: as it was, but for the number of processes."""
    device = about["device"] if execution.device == "auto" else execution.device
    if execution.strategy == "auto" and world() > 1 and about.get("processes", 1) > 1:
        execution = execution._replace(strategy=about["strategy"])
    return execution._replace(device=device)


def _expect_fit(run: Run, job: Job) -> None:
    """What was made anew from the data must be what the run began with."""
    if "fingerprint" in job.data:
        run.expect_same_data(Fingerprint.from_dict(job.data["fingerprint"]))
    for name in job.files:
        if run.file(name) is None:
            raise ValueError(
                f"a run needs the {name} that it began with, got {run.path} without it; take it from a copy"
            )
    made: Any = getattr(job.model, "spec", None)
    stored = run.about.get("spec")
    if made is not None and (not isinstance(stored, dict) or type(made).from_dict(stored) != made):
        known = type(made).from_dict(stored).to_dict() if isinstance(stored, dict) else None
        listed = "none" if known is None else _differences(known, made.to_dict())
        raise ValueError(
            f"a run's model must be the one that its settings make of its data, got as 'spec' in "
            f"{run.path / 'config.json'} {listed}; take the file from a copy"
        )
    run.expect_vocabulary()


def _expect_recipe(about: dict[str, Any], out: Path, name: str) -> None:
    """A run goes on by the recipe that it began with."""
    if about["recipe"] != name:
        raise ValueError(
            f"a run resumes by its own recipe, got {name!r} for a run of {about['recipe']!r}; use "
            f"`{resume_command(about['recipe'], out)}`"
        )
    if about["recipe"] in IMPORTED:
        raise ValueError("an imported run was not trained here and cannot be resumed; train a new one")


def _expect_same(about: dict[str, Any], preset: str | None, settings: dict[str, Any]) -> None:
    """A resumed run is the run that it was. Its data may have moved: the digest says whether it is the same."""
    kind = find_recipe(about["recipe"])
    if preset:
        kind.make(preset)  # for its check
        settings = kind.presets[preset] | settings
    changed = {k: v for k, v in settings.items() if k not in kind.may_move and about["config"].get(k) != v}
    if changed:
        given = ", ".join(f"{k}={v!r}" for k, v in changed.items())
        was = ", ".join(f"{k}={about['config'].get(k)!r}" for k in changed)
        raise ValueError(
            f"a resumed run keeps its settings, got {given} where it has {was}; leave them out, or start a new run"
        )


def _differences(stored: dict[str, Any], made: dict[str, Any]) -> str:
    names = [name for name in made | stored if stored.get(name) != made.get(name)]
    return ", ".join(f"{name}={stored.get(name)!r} where they make {made.get(name)!r}" for name in names[:3])


def _note_changes(about: dict[str, Any], processes: Alone) -> None:
    begun = {"processes": 1} | about
    now = {"torch": torch.__version__, "device": processes.device.type, "processes": processes.world}
    for what, value in now.items():
        if begun[what] != value:
            warnings.warn(
                f"this run was begun with {what} {begun[what]} and goes on with {value}: not the same, bit for bit",
                stacklevel=2,
            )


def _carry_out(
    recipe: Recipe, job: Job, folder: RunFolder, processes: Alone, execution: Execution, resume: bool
) -> None:
    if execution.compile:
        job.model.compile()
    with watching_memory(recipe.smaller_before()):
        processes.prepare(job)
    own: list[Callback] = []
    if recipe.ema:
        own.append(Averaging(recipe.ema))
    if recipe.patience:
        own.append(EarlyStopping(recipe.patience, job.better, job.more_is_better))
    if recipe.flow_every:
        own.append(FlowCallback(recipe.flow_every))
    optimizers = [] if job.update is not None else optimizers_of(recipe, job.model, job.shares)
    plan = plan_of(recipe, processes.device)
    loop = Loop(job, optimizers, plan, folder, [*own, *job.callbacks, *execution.callbacks], processes)
    if resume:
        processes.first(folder.forget_checksums)
    try:
        with watching_memory(memory_advice(recipe)):
            loop.run(resume)
    except Stopped as stop:
        raise Stopped(f"{stop}; to go on: {resume_command(recipe.name, folder.path)}", stop.code) from None
    state = loop.evaluated.state_dict()
    weights = processes.whole({name: x for name, x in state.items() if name not in job.left_out})
    processes.first(lambda: _write_weights(weights, job, folder, loop.evaluated))


def _write_weights(weights: dict[str, torch.Tensor], job: Job, folder: RunFolder, model: nn.Module) -> None:
    def save() -> None:
        if job.finish is not None:
            job.finish(model, folder.path)  # first: weights say that a run is finished
        folder.write_checksums()
        folder.write_weights(weights)
        if not job.keeps_state:
            shutil.rmtree(folder.path / STATE, ignore_errors=True)

    follow_folder(folder, job.files, save)


def _spec(model: Any) -> dict[str, Any] | None:
    return model.spec.to_dict() if hasattr(model, "spec") else None


def _reported(run: Run, processes: Alone, execution: Execution) -> Run:
    if not processes.first((run.path / "report.html").is_file):
        gc.collect()  # the model that was trained, and its optimizer, refer to each other
        advice = f"the run itself is whole: free some, then {resume_command(run.recipe.name, run.path)}"
        with watching_memory(advice), telling_waits("drawing the report", execution.shown):
            processes.first(lambda: _report(run))
    return run


def _report(run: Run) -> None:
    """Writes the report; a machine that cannot draw it has the run all the same."""
    try:
        report_run(run)
    except RendererError as error:
        warnings.warn(f"the run is whole, but for its report.html: {error}", stacklevel=2)


def optimizers_of(recipe: Recipe, model: nn.Module, shares: dict[nn.Parameter, float] | None = None) -> list[Any]:
    """The optimizers that a recipe's settings ask for."""
    betas = (0.9, recipe.beta)
    return build_optimizers(
        model,
        recipe.optimizer,
        recipe.rate,
        recipe.weight_decay,
        betas,
        recipe.momentum,
        recipe.muon_rate,
        shares=shares,
    )


def plan_of(recipe: Recipe, device: torch.device) -> Plan:
    """The plan that a recipe's settings ask for."""
    return Plan.of(
        recipe,
        schedule=recipe.rate_schedule(),
        batches=recipe.batches_per_step(),
        precision=find_precision(recipe.precision, device),
    )


@contextmanager
def _left_alone() -> Iterator[None]:
    """The caller's random numbers and thread count are afterwards what they were."""
    threads = torch.get_num_threads()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)
