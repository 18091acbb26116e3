"""Runs in processes of their own, to be killed."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from forked import server
from little import same, timeless, weights_of


def start(
    out: Path,
    cache: str,
    resume: bool,
    moment: str,
    settings: dict[str, Any],
    threads: int = 1,
    recipe: str = "gpt",
) -> Any:
    """A process that trains into ``out``; with a ``moment`` (see MOMENTS) it kills itself there."""
    process = server().Process(target=_train, args=(out, cache, resume, moment, settings, threads, recipe))
    process.start()
    return process


def expect_same_after_death(
    folder: Path,
    recipe: str,
    settings: dict[str, Any],
    moment: str = "between the files of a checkpoint",
    whole: Path | None = None,
) -> tuple[Path, Path]:
    """A run that is killed at a ``moment`` and resumed ends with the weights and metrics of an unbroken one.

    ``whole`` is the unbroken one where it is there already, else it is trained here. Gives both folders.
    """
    killed, cache = folder / "killed", str(folder / "cache")
    settings = {name: value for name, value in settings.items() if name != "show"}
    plan: list[tuple[Path, bool, str]] = [(killed, False, moment), (killed, True, "")]
    if whole is None:
        whole = folder / "whole"
        plan.append((whole, False, ""))
    for out, resume, when in plan:
        process = start(out, cache, resume, when, {} if resume else settings, recipe=recipe)
        process.join()
        assert process.exitcode == (-signal.SIGKILL if when else 0), (out.name, when, process.exitcode)
    assert same(weights_of(whole), weights_of(killed)), "the weights differ"
    assert timeless(whole) == timeless(killed)
    return whole, killed


def _train(
    out: Path, cache: str, resume: bool, moment: str, settings: dict[str, Any], threads: int, recipe: str
) -> None:
    os.environ["CUTAWAY_CACHE"] = cache
    import torch

    from cutaway.runs import execution

    torch.set_num_threads(threads)
    # The page itself takes seconds to make; what matters here is when it is asked for.
    execution.report_run = lambda run: (run.path / "report.html").write_text("a report")
    if moment:
        name, place, count = MOMENTS[moment]
        _die_in(sys.modules[name], place, count)
    execution.train(recipe, out=out, resume=resume, show="quiet", device="cpu", **settings)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_in(module: Any, name: str, count: int) -> None:
    """The process is killed when ``module.name`` is called for the ``count``-th time, before it does anything."""
    real, calls = getattr(module, name), []

    def dying(*args: Any, **more: Any) -> Any:
        calls.append(name)
        if len(calls) == count:
            _die()
        return real(*args, **more)

    setattr(module, name, dying)


CHECKPOINTS, WEIGHTS = "cutaway.training.run_folder.checkpoints", "cutaway.training.run_folder.weights"
ATOMIC = "cutaway.atomic_files"
# Where in the writing of a run a process may die: the module, its function, and at which call of it.
MOMENTS = {
    "before the first line of the log": ("cutaway.training.loop", "set_rate", 1),
    "before the first checkpoint": (CHECKPOINTS, "write_plain", 1),
    "between the files of a checkpoint": (CHECKPOINTS, "write_plain", 6),
    "before a checkpoint gets its name": (ATOMIC, "_replace_folder", 2),
    "before a checkpoint becomes the latest": (CHECKPOINTS, "write_text", 2),
    "before old checkpoints are removed": (CHECKPOINTS, "checkpoint_steps", 2),
    "after the last checkpoint": (WEIGHTS, "writing", 1),
    "before the report": ("cutaway.runs.execution", "report_run", 1),
}
