r"""Tuning a trained model to a task.

run = cut.tune("runs/bert-1", data="labels.csv", lora=8)
run.predict("a text of yours")
"""

import os
from collections.abc import Sequence
from typing import Any

from cutaway.recipes.index import TUNED, find_recipe
from cutaway.runs.execution import is_first, train
from cutaway.runs.run import Run
from cutaway.training.callbacks import Callback
from cutaway.training.run_folder.folder import read_config
from cutaway.tuning.task_choice import find_task


def tune(
    base: "str | os.PathLike[str] | Run | None" = None,
    *,
    data: Any = None,
    task: str = "",
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "auto",
    strategy: str = "auto",
    compile: bool = False,
    show: str = "auto",
    tensorboard: bool = False,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Run:
    """Tunes a run or a checkpoint to a task, and returns the new run; see `cut.train` for what is not said here.

    ``base`` is a run, its folder, a checkpoint's folder or a hub id; ``data`` says what to learn. ``task`` is classify,
    tag, language, chat, images … and is found from the two if it is plain. The way is one of ``lora=8`` (a rank),
    ``adapter=64`` (a width), ``head_only=True``, ``last=2`` (layers) and ``full=True``; without one, LoRA of rank 8 for
    transformers and all weights for other models. ``settings`` are those of the task
    (`cutaway tune BASE --task classify --help`).
    """
    execution: dict[str, Any] = {
        "out": out,
        "device": device,
        "strategy": strategy,
        "compile": compile,
        "show": show,
        "tensorboard": tensorboard,
        "callbacks": callbacks,
    }
    source = os.fspath(base.path if isinstance(base, Run) else base) if base is not None else ""
    if resume:
        given = settings | ({"base": source} if source else {}) | ({} if data is None else {"data": data})
        return train(tuned_recipe_of(out), resume=True, **execution, **given)
    if not source:
        raise ValueError("tuning needs a trained model, got none; give the folder of a run or of a checkpoint first")
    if data is None:
        raise ValueError("tuning needs data to learn from, got none; give its path: data='labels.csv'")
    chosen = find_task(source, data, task)
    recipe = chosen.kind.make(base=source, data=data, **settings)
    if chosen.why and show not in ("quiet", "json") and is_first():
        print(f"task: {chosen.kind.task}, as {chosen.why}")
    return train(recipe, **execution)


def tuned_recipe_of(out: str | os.PathLike[str] | None) -> str:
    """The recipe of a tuned run that is to go on."""
    from pathlib import Path

    if out is None or not os.fspath(out):
        raise ValueError("resuming needs the run's folder, got none; add --out runs/NAME")
    name = read_config(Path(out))["recipe"]
    if name not in TUNED and not getattr(find_recipe(name), "task", ""):
        raise ValueError(
            f"tuning goes on with a tuned run, got {out}, a run of {name!r}; use `cutaway train {name} --resume`"
        )
    return name


__all__ = ["tune", "tuned_recipe_of"]
