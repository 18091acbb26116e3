r"""A task is what is asked of data: its parts, metrics, baselines and answers. It knows no model.

    recipe.read()             → task        data is read, nothing is built
    Task.of_run(run)          → task        from the files of a run folder; its data is read when somebody asks for it
    recipe.build(task)        → learner     a model and how rows become its inputs (`learner.py`)

A task is written once: `cutaway train classifier` and `cutaway tune BASE --task classify` share `texts/classify`, and
differ in the learner alone. Its ``kind`` is the place of its file in this folder, by which views choose their runs.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

Files = dict[str, Callable[[Path], None]]  # name in a run folder → what writes it


class Task:
    """Data by some settings: those of a recipe, and of a run if there is one, whose data must be what it was."""

    kind: ClassVar[str] = ""  # "texts/classify" stands in tasks/texts/classify.py
    figure: str = "loss"  # the metric that chooses the weights that a run ends with
    more_is_better: bool = False  # whether a higher figure is better, as with accuracy

    def __init__(self, settings: Any, run: Any = None) -> None:
        self.settings, self.run = settings, run

    @classmethod
    def of_run(cls, run: Any) -> "Task":
        """The task of a run, which reads its data lazily."""
        return cls(run.recipe, run)

    @cached_property
    def parts(self) -> Any:
        """Training and validation data, and `open_test()`; read once, and compared with what a run was trained on."""
        parts = self.read_parts()
        if self.run is not None:
            self.run.expect_same_data(parts.fingerprint)
        return parts

    def read_parts(self) -> Any:
        """Reads the data that the settings name."""
        raise ValueError(f"a task of the kind {self.kind!r} has no data to read; define read_parts")

    def count(self) -> int:
        """Training examples, which make the steps of an epoch."""
        return len(self.parts.train)

    def facts(self) -> dict[str, Any]:
        """What config.json says of the data: its summary in words, its fingerprint, a baseline …"""
        return {
            "summary": self.parts.summary(),
            "fingerprint": self.parts.fingerprint.to_dict(),
            "source": self.settings.data,
        }

    def files(self) -> Files:
        """What is written into the run folder when a run begins, so that its answers can be given without the data."""
        return {}

    def file_of_run(self, name: str, what: str) -> Path:
        """A file that was written when the run began, which must be there."""
        path = self.run.file(name)
        if path is None:
            raise ValueError(f"a run {what} needs its {name}, got {self.run.path} without it; take it from a copy")
        return path


def task_of_kind(kind: str) -> type[Task]:
    """The task of a kind, by the file that it names.

    >>> task_of_kind("texts/classify").__name__
    'TextClasses'
    """
    module = import_module(f"cutaway.tasks.{kind.replace('/', '.')}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Task) and value.kind == kind
    )
