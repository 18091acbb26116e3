r"""A learner is a model and how rows become its inputs. A recipe builds it for a task, or tuning does, from a base.

    fit_first()                 what is solved before step 1: a bag of words, a linear head
    batches(rank, world)        of training rows
    cost(model, batch)          the scalar that goes down
    evaluate(model)             metrics of the validation part; {} if there is none
    job(rank, world)            all of it, as the loop takes it

    outputs(rows)               of a trained model, for the task to make metrics and answers of
    subject(given)              what a look puts into the model

A verb of a family (`predict`, `generate`, `forecast` …) is a method of its learner; an ability (`abilities/`) calls it.
"""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.tasks.subjects import Subject, subject_by_model
from cutaway.tasks.task import Files, Task
from cutaway.training.jobs import Job

if TYPE_CHECKING:
    from pathlib import Path


class Learner:
    """A model, the task that it learns, and the settings by which it does."""

    model: Any  # an nn.Module
    unit: str = "rows"  # what a batch holds, for the speed shown
    start_counts: bool = False  # whether the weights before the first step are fitted already, and may be the result

    def __init__(self, settings: Any, task: Task, model: nn.Module) -> None:
        self.settings, self.task, self.model = settings, task, model

    # Training.

    def fit_first(self) -> None:
        """Solves for what is not learned by steps."""

    def batches(self, rank: int, world: int) -> Batches[Any]:
        """Batches of training rows, the share of one process."""
        raise ValueError(f"a learner needs batches to be trained, got {type(self).__name__} without; define `batches`")

    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        """The scalar that a step lowers."""
        raise ValueError(f"a learner needs a cost to be trained, got {type(self).__name__} without; define `cost`")

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Metrics of the validation part."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What config.json says of the data as this model takes it, beside the task's own facts."""
        return {}

    def files(self) -> Files:
        """What is written into the run folder beside the task's own files: a tokenizer …"""
        return {}

    def job(self, rank: int = 0, world: int = 1) -> Job:
        """What the loop runs."""
        self.fit_first()
        return Job(
            model=self.model,
            batches=self.batches(rank, world),
            objective=self.cost,
            evaluate=self.evaluate,
            whole=self.evaluate,  # the weights that are kept need not be those of the last evaluation
            units=self.settings.batch,
            unit=self.unit,
            files=self.task.files() | self.files(),
            data=self.task.facts() | self.facts(),
            better=self.task.figure,
            more_is_better=self.task.more_is_better,
            start_counts=self.start_counts,
            shares=self.rate_shares(),
            finish=self.finish,
        )

    def rate_shares(self) -> "dict[nn.Parameter, float] | None":
        """The share of the learning rate that each parameter gets; None for all the same."""
        return None

    def finish(self, model: nn.Module, folder: "Path") -> None:
        """Writes what a finished run has beside its weights."""

    # A run that is there.

    @property
    def run(self) -> Any:
        """The run that the model is of; None while it is trained."""
        return self.task.run

    def subject(self, given: str | None = None) -> Subject:
        """What `cutaway look` and the report put into the model: what was given, else data that it was not trained on.

        By default a text, if the model says that it takes one (`Model.input_kind`).
        """
        return subject_by_model(self.run, given)
