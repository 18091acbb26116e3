r"""A learner that starts from a base: the base's model with the head of a task, of which a method says what learns.

head      the base's own, or a new one for the task's labels
method    what of it learns: LoRA, adapters, the head alone, the last layers, all (`methods.py`)
weights   those that are the base's and never change are left out of what the run writes (`bases.py`)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from cutaway.hub.adapters import write_adapter
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.task import Task
from cutaway.training.adapters.layer_rates import rate_shares
from cutaway.training.adapters.records import adapters_of
from cutaway.training.jobs import Job
from cutaway.training.run_folder.weights import write_tensors
from cutaway.tuning.bases import COPIED, COPY, REFERENCED, Base
from cutaway.tuning.comparison import Answers
from cutaway.tuning.label_heads import SAME_HEAD, head_in_words
from cutaway.tuning.methods import (
    apply_way,
    head_addresses,
    own_memory,
    places_in_memory,
    trainable_share,
    unchanged_weights,
    without_updates,
)
from cutaway.tuning.settings import ADAPTER, BASE_HEAD, TunedRecipe


class Start(NamedTuple):
    """What a tuned model starts from, and what of it learns."""

    base: Base
    of_base: frozenset[str]  # names of weights that stay as they are
    head_learns: bool
    same_head: bool  # whether the head is that of the base
    words: tuple[str, ...]  # of the base and of the head, for the summary


def start_from(base: Base, model: Any, recipe: TunedRecipe, words: str, places: dict[str, int], old_head: Any) -> Start:
    """Freezes what does not learn of a model with the head of its task, and puts LoRA or adapters into it."""
    same = recipe.head_learns and model is base.model
    head = SAME_HEAD if same else head_in_words(old_head, getattr(getattr(model, "spec", None), "head", None))
    learns = recipe.head_learns or getattr(model, "head", None) is not getattr(base.model, "head", None)
    if recipe.head_only and not (learns and head_addresses(model)):
        raise ValueError(
            f"head_only trains a head of labels or one that is new, got the task {recipe.task!r}, which goes on with "
            "the base as it is; try lora=8"
        )
    apply_way(model, recipe, learns)
    of_base = unchanged_weights(model, places)
    own_memory(model)
    return Start(base, of_base, learns, same or not learns, (words, head))


class TunedLearner(Learner):
    """The learner of a tuned run. While it is trained it knows its ``start``; a run that is there needs no base."""

    def __init__(self, settings: TunedRecipe, task: Task, model: nn.Module, start: Start | None = None) -> None:
        super().__init__(settings, task, model)
        self.start = start

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the base, which a run keeps."""
        return self.start.base.tokenizer if self.start is not None else self.run.tokenizer

    @property
    def head_is_new(self) -> bool:
        """Whether the head was made for this task."""
        return self.start is not None and self.model is not self.start.base.model

    @override
    def rate_shares(self) -> "dict[nn.Parameter, float] | None":
        decay = self.settings.layer_decay
        return rate_shares(self.model, decay) if decay < 1 else None

    @override
    def finish(self, model: nn.Module, folder: Path) -> None:
        """What LoRA or adapters learned, alone, as peft keeps it."""
        if self.settings.way in ("lora", "adapter"):
            write_adapter(model, folder / ADAPTER)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        assert self.start is not None
        job, recipe, start = self.task_job(rank, world), self.settings, self.start
        share = trainable_share(self.model)
        job.shares, job.finish = self.rate_shares(), self.finish
        job.data["base"] = start.base.facts() | self._keep_base(job)
        job.data["tuning"] = {
            "task": recipe.task,
            "way": recipe.way,
            "what": recipe.way_in_words(),
            "head_learns": start.head_learns,
        } | share
        if start.same_head:
            job.data["tuning"]["head"] = BASE_HEAD
        lines = [job.data["summary"], *start.words, recipe.in_words(share)]
        job.data["summary"] = "\n".join(line for line in lines if line)
        job.files = start.base.files() | job.files
        job.keeps_state = False
        return job

    def task_job(self, rank: int, world: int) -> Job:
        """The job of the task, without what is said of the base."""
        return super().job(rank, world)

    def export(self, to: str) -> "Path | None":
        """Merges LoRA's updates into the weights; what is written is the model."""
        model: Any = self.model
        without_updates(model)
        if adapters_of(model):
            raise ValueError(
                f"a checkpoint is one network of weights, got {self.run.path}, which has adapters, networks of their "
                "own between its layers; export what it learned alone: --adapter, or tune by --lora 8"
            )
        context = getattr(self.settings, "context", None)
        if context and getattr(model, "head", None) is not None and hasattr(model.head, "context"):
            model.head.context = min(context, model.spec.context)
        return None

    def held_out_inputs(self) -> list[tuple[Any, ...]]:
        """Arguments of the model that it was not tuned on, a dict of those by name last; [] for what `subject` has."""
        return []

    def answers_before_and_after(self, base: Any) -> Answers | None:
        """What the base and the tuned model answer to held-out examples; None if the task has no such answers."""
        return None

    def _keep_base(self, job: Job) -> dict[str, str]:
        """Leaves the base's own weights out of what the run writes; they are found by its path, or copied once."""
        assert self.start is not None
        names = job.left_out = self.start.of_base
        if not names or (self.start.base.finished and not self.settings.self_contained):
            return {"weights": REFERENCED}
        state = job.model.state_dict()

        def copy(path: Path) -> None:
            write_tensors(path, {name: state[name] for name in names})

        job.files[COPY] = copy
        return {"weights": COPIED}


def tuned_learner(kind: Callable[..., TunedLearner], recipe: TunedRecipe, task: Any, base: Base) -> TunedLearner:
    """The learner of a task on a base: its model gets the head of the task, and of it learns what the method says."""
    words, places = base.in_words(), places_in_memory(base.model)  # before anything is added to it
    old = getattr(getattr(base.model, "spec", None), "head", None)
    model = recipe.headed(base, task)
    return kind(recipe, task, model, start_from(base, model, recipe, words, places, old))


class RecipeLearner(TunedLearner):
    """A task of yours, which makes its job itself: `TunedRecipe.task_job(model, base, data, rank, world)`."""

    @override
    def task_job(self, rank: int, world: int) -> Job:
        assert self.start is not None
        recipe: Any = self.settings
        return recipe.task_job(self.model, self.start.base, self.task, rank, world)
