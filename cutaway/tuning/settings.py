r"""What all ways of tuning share. Tuning is a base, a way and a task:

    base    a run folder or a checkpoint                                        bases.py
    way     what of it learns: lora, adapter, head_only, last k layers, full    tuning_ways.py
    task    what it learns: a recipe in this folder, one file each

`cutaway tune BASE --data FILE` finds the task: the model declares the tasks that it serves (`Model.tasks`), and a task
says whether some data is of its kind (`suits`). To add a task, write a `TunedRecipe` with

    task                            the word of --task; the recipe's name is tuned-TASK (recipes/index.py lists it)
    suits(data)                     what makes data plainly of this kind, in words ("a column of texts and one of
                                    labels"); "" if it is not
    read(base)                      the data, read for this base: by its tokenizer, in its size of images …
    count(data)                     training examples, which make the steps of an epoch
    headed(base, data)              the base's model with the head of the task (`Model.with_labels`); beside LoRA and
                                    adapters it learns, unless it is the base's and the task says so (`head_learns`)
    task_job(model, base, data, …)  a `Job` as any recipe makes it; its model is already frozen, or has its LoRA
    test_metrics, predict, …        as in any recipe

and, for a family of models, declare in its `Model`: ``tasks``, ``tuned_by``, ``layer_order``, and for heads of labels
`with_labels`, `represent`, `decide`. What a base needs besides model and tokenizer (the shape of images, the columns of
a table) is in ``base.file(name)``, a file of the run that it is.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, RESULTS, SCHEDULE, setting
from cutaway.training.optimizers.schedules import Shape

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tuning.bases import Base, BaseOfRun
    from cutaway.tuning.learner import TunedLearner

WAYS = ("lora", "adapter", "head_only", "last", "full")
RATES = {"lora": 2e-3, "adapter": 3e-3, "head_only": 3e-3, "last": 1e-4, "full": 1e-4}
ADAPTER = "adapter"  # the folder in a run
BASE_HEAD = "of the base"  # in config.json, where the head is not new
# settings that no other way may be given
_OF_LORA = ("lora_targets", "lora_alpha", "lora_dropout", "lora_biases", "dora")
_EPOCHS, _HEAD_EPOCHS = 3.0, 30.0
_HEAD_STEPS = 300  # of a head alone, at least: few examples need as many as many do
_WARMUP = 0.06  # of the steps
_MOST_CHECKPOINTS = 4  # of a run, where nobody chose: those of --full hold all weights
_LOOKS, _MOST_LOOKS = 4, 20  # evaluations in an epoch, and in all


@dataclass(frozen=True)
class TunedRecipe(Recipe):
    """A trained model, tuned to a task."""

    task: ClassVar[str] = ""
    open_settings: ClassVar[tuple[str, ...]] = (
        "steps",
        "rate",
        "epochs",
        "warmup",
        "evaluate_every",
        "checkpoint_every",
    )
    may_move: ClassVar[tuple[str, ...]] = ("data", "base")
    least_steps: ClassVar[int] = 1  # if nobody chose: a few examples need as many as some hundreds do
    head_learns: ClassVar[bool] = True  # whether the head learns even if it is that of the base

    base: str = setting("", FIRST, "PATH")
    """the run folder or the checkpoint to tune"""
    lora: int = setting(0, FIRST)
    """rank of LoRA, which adds B A to the weights of layers and trains that alone; 8 if no way is chosen and the model
    is a transformer"""
    adapter: int = setting(0, FIRST)
    """width of adapters, small networks after the layers, which are trained alone"""
    head_only: bool = setting(False, FIRST)
    """train the head alone: the rest computes its features once"""
    last: int = setting(0, FIRST)
    """train the last N layers and the head"""
    full: bool = setting(False, FIRST)
    """train all weights"""
    lora_targets: str = setting("", OPTIMIZER, "GLOBS")
    """addresses of the layers that LoRA is put beside, with commas between; all-linear for all linear layers but the
    head; empty for what suits the model: all-linear, of a CNN its convolutions"""
    lora_alpha: float = setting(0.0, OPTIMIZER)
    """LoRA's updates are scaled by alpha / rank; 0 for the rank"""
    lora_dropout: float = setting(0.0, OPTIMIZER)
    """share of LoRA's inputs dropped in training"""
    lora_biases: Literal["none", "lora", "all"] = setting("none", OPTIMIZER)
    """biases that are trained beside LoRA: none, those of the layers that it is put beside, or all"""
    dora: bool = setting(False, FIRST)
    """LoRA with a trained length for each output of a layer (DoRA)"""
    layer_decay: float = setting(1.0, OPTIMIZER)
    """factor of the learning rate from each layer to the one below it, as 0.9; 1 for one rate"""
    epochs: float = setting(0.0, FIRST)
    """how often every example is seen; 0 for what suits the way: a head alone is solved for in one step where it is new
    (else 30 times, and at least 300 steps), all others see them 3 times, which for
    classes and tags are at least 60 steps"""
    self_contained: bool = setting(False, RESULTS)
    """copy the weights of the base that stay as they are into the run folder, which then needs no base to be used;
    without it, the run folder holds what was learned, and the base is found by its path and compared by its digest"""
    features_memory: int = setting(1024, DATA, "MB")
    """megabytes that the features of a frozen body may take with --head-only; more are computed again in each step"""
    validation: float = setting(0.1, DATA)
    """share of the examples to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the examples for `cutaway test`; 0 for none"""

    steps: int = setting(0, FIRST)
    """optimizer steps; 0 for those of --epochs"""
    batch: int = 32
    """examples in a batch"""
    rate: float = setting(0.0, FIRST)
    """full learning rate; 0 for one that suits the way: 0.002 for LoRA, 0.003 for adapters and for a head, 0.0001 for
    last layers and for all weights"""
    beta: float = 0.999
    """how long Adam remembers squared gradients"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    schedule: Shape = "linear"
    """shape of the learning rate over the steps"""
    warmup: int = setting(0, SCHEDULE)
    """steps in which the rate rises from zero; 0 for a sixteenth of all"""
    final: Literal["best", "last"] = setting("best", RESULTS)
    """the weights that the run ends with: best by validation (last, if there is none), or last"""
    evaluate_every: int = setting(0, RESULTS)
    """steps between evaluations; 0 for a quarter of an epoch, and at most 20 evaluations in all"""
    checkpoint_every: int = setting(0, RESULTS)
    """steps between checkpoints; 0 for one an epoch, and at most 4 in all"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "lora", "adapter", "last", "lora_alpha", "features_memory")
        expect_share(self, "validation", "test", "lora_dropout")
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"layer_decay must be above 0 and at most 1, got {self.layer_decay}; try layer_decay=0.9")
        chosen = [way for way in WAYS if getattr(self, way)]
        if len(chosen) > 1:
            given = " and ".join(f"{way}={getattr(self, way)}" for way in chosen)
            raise ValueError(f"tuning has one way, got {given}; leave all but one out")
        if chosen:
            self._expect_lora_for(chosen[0])
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs examples to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def _expect_lora_for(self, way: str) -> None:
        """Settings that change what learns beside LoRA need LoRA."""
        for name in _OF_LORA if way != "lora" else ():
            if (given := getattr(self, name)) != type(self).__dataclass_fields__[name].default:
                raise ValueError(
                    f"{name} is a setting of LoRA, got {name}={given!r} where the way is {way}; leave it out, or tune "
                    "by lora=8"
                )

    @property
    def way(self) -> str:
        """What of the base learns; "" as long as nobody chose."""
        return next((way for way in WAYS if getattr(self, way)), "")

    def usual_epochs(self, way: str) -> float:
        """How often every example is seen if nobody chose."""
        return _HEAD_EPOCHS if way == "head_only" else _EPOCHS

    def usual_rate(self, way: str) -> float:
        """The full learning rate if nobody chose."""
        return RATES[way]

    # What a task says of itself.

    @classmethod
    def suits(cls, data: Any) -> str:
        """What makes ``data`` plainly that of this task, in words; "" if it is not."""
        return ""

    def count(self, task: Any) -> int:
        """Training examples."""
        return task.count()

    def headed(self, base: "Base", data: Any) -> "nn.Module":
        """The base's model with the head of the task."""
        return base.model

    def head_is_solved(self, base: "Base", data: Any) -> bool:
        """Whether a head alone is learned by one step, which solves for its last layer."""
        return False

    # What is made of it.

    @override
    def open_base(self) -> "Base":
        from cutaway.tuning.bases import open_base

        if not self.base:
            raise ValueError("tuning needs a trained model, got none; give the folder of a run or a checkpoint as base")
        base = open_base(self.base)
        base.expect_task(self.task)
        return base

    @override
    def settled(self, task: Any, base: Any = None) -> "TunedRecipe":
        """New settings, in which what depends on base and data is chosen: way, rate, steps."""
        from cutaway.tuning.methods import usual_rank

        way = self.way or base.usual_way
        self._expect_lora_for(way)
        chosen: dict[str, Any] = {}
        if not self.way:
            chosen[way] = usual_rank(base.model, self) if way == "lora" else True
        count = self.count(task)
        batch = min(self.batch, count)
        epoch = -(-count // (batch * self.accumulate))
        epochs = self.epochs or self.usual_epochs(way)
        steps = self.steps or max(1 if self.epochs else self.least_steps, round(epochs * epoch))
        if way == "head_only" and not (self.steps or self.epochs):
            steps = max(steps, _HEAD_STEPS)
            if not self.rate and self.head_is_solved(base, task):
                steps, epochs = 1, 1.0
        chosen |= {
            "epochs": float(epochs),
            "steps": steps,
            "batch": batch,
            "rate": self.rate or self.usual_rate(way),
            "warmup": self.warmup or int(_WARMUP * steps),
            "evaluate_every": self.evaluate_every or max(1, epoch // _LOOKS, steps // _MOST_LOOKS),
            "checkpoint_every": self.checkpoint_every or max(epoch, steps // _MOST_CHECKPOINTS),
        }
        return dataclasses.replace(self, **chosen)

    def learner_kind(self) -> "type[TunedLearner]":
        """How a model of text, images … learns the task."""
        from cutaway.tuning.learner import RecipeLearner

        return RecipeLearner

    @override
    def build(self, task: Any, base: Any = None, model: "nn.Module | None" = None) -> "TunedLearner":
        import torch

        from cutaway.tuning.learner import tuned_learner

        if model is not None:
            return self.learner_kind()(self, task, model)
        torch.manual_seed(self.seed)
        return tuned_learner(self.learner_kind(), self, task, base)

    @override
    def expect_resumable(self, run: "Run") -> None:
        from cutaway.tuning.bases import expect_same_base

        if noted := run.about["data"].get("base"):
            expect_same_base(self.base, noted, run.path)

    def way_in_words(self) -> str:
        """What learns."""
        biases = {"none": "", "lora": " and the biases of its layers", "all": " and all biases"}[self.lora_biases]
        return {
            "lora": f"{'DoRA' if self.dora else 'LoRA'} of rank {self.lora}{biases}",
            "adapter": f"adapters of width {self.adapter}",
            "head_only": "the head alone",
            "last": "the last layer" if self.last == 1 else f"the last {self.last} layers",
            "full": "all weights",
        }[self.way]

    def in_words(self, share: dict[str, Any]) -> str:
        """What learns, in a line."""
        part = share["trained"] / share["parameters"]
        return (
            f"tuning: {self.way_in_words()}; {share['trained']:,} of {share['parameters']:,} parameters are trained "
            f"({part:.{0 if part == 1 else 2}%})"
        )

    @override
    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        from cutaway.training.adapters.stacked_adapters import build_stack
        from cutaway.tuning.methods import apply_way

        model: Any = super().open_model(config)
        base = config["data"].get("base") or {}
        build_stack(model, base.get("adapters", []))
        apply_way(model, self, config["data"].get("tuning", {}).get("head_learns", self.head_learns))
        model.generation_config = base.get("generation")
        return model

    @override
    def weights_elsewhere(self, about: dict[str, Any], folder: Path) -> "BaseOfRun":
        from cutaway.tuning.bases import BaseOfRun

        return BaseOfRun(about, folder)

    @override
    def smaller(self) -> str:
        less = {"head_only": f"lower features_memory={self.features_memory}"}
        less |= dict.fromkeys(("lora", "adapter"), "train the head alone: head_only=True")
        told = less.get(self.way, "train less of the model: lora=8, or head_only=True")
        if self.batch == 1:
            return f"the batch is 1 already: {told}"
        return f"lower batch={self.batch} (a higher accumulate={self.accumulate} makes up for it), or {told}"

    @override
    def smaller_before(self) -> str:
        return "take a smaller base, or less data"


def features_in_words(features: list[Any], most: int) -> str:
    """Whether the features of a frozen body are kept, and what memory they take."""
    size = sum(kept.megabytes for kept in features if kept is not None)
    if all(kept is None or kept.fits for kept in features):
        return f"features: kept, {size:,.1f} MB"
    return f"features: computed again in each step, as they would take {size:,.0f} MB and --features-memory is {most}"


Files = dict[str, Callable[[Path], None]]

__all__ = ["ADAPTER", "BASE_HEAD", "RATES", "WAYS", "Files", "TunedRecipe", "features_in_words"]
