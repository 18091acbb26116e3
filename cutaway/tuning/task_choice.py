r"""Which task a base and some data are for.

    tasks of the model      Model.tasks of the base
    tasks of the data       those whose `suits(data)` says so

One that is both is chosen, and said; none or several are an error that says what there is.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

from cutaway.recipes.index import find_recipe, known_tasks
from cutaway.tuning.settings import TunedRecipe


class ChosenTask(NamedTuple):
    """A task, and why it was chosen: "" if a person named it."""

    kind: type[TunedRecipe]
    why: str = ""


def find_task(base: str, data: Any, task: str = "") -> ChosenTask:
    """The task that was named, else the one that base and data are plainly for."""
    known: dict[str, Any] = known_tasks()
    if task:
        if task not in known:
            raise ValueError(f"task must be one of {', '.join(known)}, got {task!r}; leave it out to have it found")
        return ChosenTask(known[task])
    model, served = served_tasks(base)
    reasons = {name: kind.suits(data) for name, kind in known.items()}
    fitting = [name for name in served if reasons.get(name)]
    shown = data if isinstance(data, (str, os.PathLike)) else "data in memory"
    if len(fitting) == 1:
        return ChosenTask(known[fitting[0]], f"{base} is a {model} and {shown} looks like {reasons[fitting[0]]}")
    of_data = [name for name in known if reasons[name]]
    if fitting:
        told = " or ".join(f"task={name!r}" for name in fitting)
        raise ValueError(f"the task must be named where several fit, got {shown} for a {model}; say {told}")
    served_now = [name for name in served if name in known]
    if of_data:
        raise ValueError(
            f"data must be of a kind that the model can be tuned to, got {shown}, which looks like "
            f"{reasons[of_data[0]]}, for {base}, a {model}; it can be tuned to: {', '.join(served_now) or 'nothing'}"
        )
    told = " or ".join(f"task={name!r}" for name in served_now) or "another base"
    raise ValueError(f"the task must be named where the data does not tell it, got {shown} for a {model}; say {told}")


def served_tasks(base: str) -> tuple[str, tuple[str, ...]]:
    """The name of a base's model and the tasks that it serves, without reading its weights."""
    import cutaway.models  # noqa: F401 -- so that the models of all specs are known
    from cutaway.models.specs.plain_data import NamedSpec
    from cutaway.training.run_folder.folder import read_config
    from cutaway.tuning.bases import is_run

    folder = Path(os.path.expanduser(base))
    if is_run(folder):
        about = read_config(folder)
        find_recipe(about["recipe"])
        name = (about.get("spec") or {}).get("model", "")
        opener = getattr(NamedSpec.known.get(name), "opener", None)
        return name or about["recipe"], tuple(getattr(opener, "tasks", ()))
    from cutaway.hub.checkpoint_files import locate
    from cutaway.hub.checkpoint_files import read_config as read_checkpoint_config
    from cutaway.hub.family_choice import find_family

    design = find_family(read_checkpoint_config(locate(base))).design
    return design.model, tuple(getattr(design.opener, "tasks", ()))


__all__ = ["ChosenTask", "find_task", "served_tasks"]
