r"""What a recipe is: settings that are also the flags of the command line, and how to make a job of them.

Nothing heavy is imported before a recipe is used: `cutaway train gpt --help` needs neither torch nor pandas.
"""

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.data.stored import hold, plain, shown
from cutaway.recipes.checks import expect_at_least, expect_settings, expect_share, expect_types
from cutaway.recipes.settings import FIRST, MACHINE, OPTIMIZER, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.optimizers.names import Optimizer
from cutaway.training.optimizers.schedules import BatchSizes, Schedule, Shape, batches_per_step, fitting_warmup

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from torch import Tensor, nn

    from cutaway.runs.run import Run
    from cutaway.tasks.learner import Learner
    from cutaway.tasks.task import Task
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class Recipe:
    """Settings that every recipe has."""

    name: ClassVar[str] = ""
    quality: ClassVar[str] = ""  # what it reaches, on what, beside what
    unit: ClassVar[str] = ""  # of the loss
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    abilities: ClassVar[tuple[Offer, ...]] = ()  # what its runs can do, besides what its bases offer
    own_vocabulary: ClassVar[bool] = True  # whether model and tokenizer must have as many tokens
    may_move: ClassVar[tuple[str, ...]] = ("data",)  # paths that a resumed run can be given anew; content is compared
    memory: ClassVar[str] = ""  # how data in memory is kept, as `cutaway.data.stored.plain` takes it; "" for not at all
    open_settings: ClassVar[tuple[str, ...]] = ()  # that may be 0, until `settled` chooses them by the data
    kind: ClassVar[str] = ""  # of the task: "texts/classify" stands in tasks/texts/classify.py

    data: str = setting("", FIRST, "PATH")
    """what to train on: a path, or the name of an embedded sample (`cutaway list data`)"""
    steps: int = setting(1000, FIRST)
    """optimizer steps"""
    batch: int = setting(32, FIRST)
    """examples in a batch"""
    seed: int = setting(0, FIRST)
    """random seed: the same seed gives the same run"""
    optimizer: Optimizer = setting("adamw", OPTIMIZER)
    """rule that turns gradients into steps"""
    rate: float = setting(1e-3, FIRST)
    """full learning rate"""
    muon_rate: float = setting(0.02, OPTIMIZER)
    """full learning rate of the matrices that Muon trains"""
    momentum: float = setting(0.95, OPTIMIZER)
    """how long Muon, momentum and Nesterov remember gradients"""
    weight_decay: float = setting(0.0, OPTIMIZER)
    """pull of the matrices towards zero"""
    beta: float = setting(0.95, OPTIMIZER)
    """how long Adam remembers squared gradients"""
    schedule: Shape = setting("linear", SCHEDULE)
    """shape of the learning rate over the steps"""
    warmup: int = setting(0, SCHEDULE)
    """steps in which the rate rises from zero"""
    floor: float = setting(0.0, SCHEDULE)
    """share of the rate at the end"""
    clip: float = setting(1.0, OPTIMIZER)
    """longest gradient allowed; 0 for any"""
    accumulate: int = setting(1, SCHEDULE)
    """batches summed into one step"""
    batch_growth: int = setting(1, SCHEDULE)
    """how many times as many batches the last steps sum as the first, doubling on the way; 1 for no growth"""
    ema: float = setting(0.0, OPTIMIZER)
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    patience: int = setting(0, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    final: Literal["best", "last"] = setting("best", RESULTS)
    """the weights that the run ends with: best by validation (last, if there is none), or last"""
    precision: Literal["auto", "float32", "bfloat16"] = setting("auto", MACHINE)
    """of products: auto is bfloat16 on a GPU that has it, else float32"""
    log_every: int = setting(10, RESULTS)
    """steps that a line of metrics.jsonl is the mean of"""
    evaluate_every: int = setting(100, RESULTS)
    """steps between evaluations"""
    checkpoint_every: int = setting(500, RESULTS)
    """steps between checkpoints"""
    keep: int = setting(2, RESULTS)
    """checkpoints kept"""
    flow_every: int = setting(0, RESULTS)
    """steps between looks at the gradient flow, which the report shows; 0 for none"""

    def __post_init__(self) -> None:
        expect_types(self)
        hold(self)
        ones = (
            "steps",
            "batch",
            "accumulate",
            "batch_growth",
            "log_every",
            "evaluate_every",
            "checkpoint_every",
            "keep",
        )
        expect_at_least(self, 1, *(name for name in ones if name not in self.open_settings))
        expect_at_least(self, 0, *self.open_settings)
        expect_at_least(self, 0, "seed", "patience", "clip", "weight_decay", "flow_every")
        expect_share(self, "beta", "ema", "momentum")
        for field in ("rate", "muon_rate"):
            if not getattr(self, field) > 0 and field not in self.open_settings:
                raise ValueError(f"{field} must be above 0, got {getattr(self, field)}; try {field}=0.001")
        if self.steps:
            self.rate_schedule()  # both check what they are made of
            self.batches_per_step()
        if self.seed >= 1 << 63:
            raise ValueError(f"seed must be below 2⁶³, got {self.seed}; try seed=0")

    @classmethod
    def make(cls, preset: str | None = None, **settings: Any) -> "Recipe":
        """The recipe of a preset (or of the defaults), with some settings changed."""
        expect_settings(cls, settings)
        if preset and preset not in cls.presets:
            known = ", ".join(cls.presets) or "none"
            raise ValueError(f"preset must be one of {known}, got {preset!r}; leave it out for the defaults")
        chosen = cls.presets[preset] if preset else {}
        with plain(cls, settings, chosen) as given:
            return cls(**chosen | given).as_chosen(given)

    def but(self, **settings: Any) -> "Recipe":
        """The same recipe with some settings changed."""
        expect_settings(type(self), settings)
        with plain(type(self), settings, self.fields()) as given:
            return dataclasses.replace(self, **given).as_chosen(given)

    def fields(self) -> dict[str, Any]:
        """Every setting by its name, as it is."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def as_chosen(self, settings: dict[str, Any]) -> "Recipe":
        """The recipe itself, if a warm-up that was asked for fits: only one that nobody chose is made to fit."""
        if "warmup" in settings and self.steps:
            Schedule(self.steps, self.schedule, settings["warmup"], self.floor)
        return self

    # From settings to a job: what is read, what is chosen by it, what is built.

    def open_base(self) -> Any:
        """What a tuned run starts from (`tuning.bases.Base`); None for a model that starts from nothing."""
        return None

    def read(self, base: Any = None) -> "Task":
        """The task: the data that the settings name, and what is asked of it."""
        raise self._cannot("be trained")

    def settled(self, task: "Task", base: Any = None) -> "Recipe":
        """New settings, in which what was left open (0 for what suits) is chosen by the data."""
        return self

    def build(self, task: "Task", base: Any = None, model: "nn.Module | None" = None) -> "Learner":
        """A model for the task and how it learns; of a run that is there, with its trained ``model``."""
        raise self._cannot("be trained")

    def begin(self) -> "Begun":
        """Everything that comes before the run folder: data is read once, and passed on."""
        if type(self).job is not Recipe.job:  # a recipe of yours that makes its job itself
            return Begun(self.settled(None))  # type: ignore[arg-type]
        base = self.open_base()
        task = self.read(base)
        return Begun(self.settled(task, base), task, base)

    def task_of(self, run: "Run") -> "Task":
        """The task of a run that is there, by its files."""
        from cutaway.tasks.task import task_of_kind

        return task_of_kind(self.kind).of_run(run)

    def rate_schedule(self) -> Schedule:
        """The share of the full learning rate at every step. A warm-up that nobody chose is shorter in a short run."""
        usual = next(field.default for field in dataclasses.fields(self) if field.name == "warmup")
        warmup = fitting_warmup(usual, self.steps) if self.warmup == usual else self.warmup
        return Schedule(self.steps, self.schedule, warmup, self.floor)

    def batches_per_step(self) -> BatchSizes:
        """How many batches each step sums."""
        return batches_per_step(self.accumulate, self.batch_growth, self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The settings as config.json has them."""
        return dataclasses.asdict(self) | {"data": shown(self.data)}

    # What a recipe does. Those that a kind of model cannot do say so.

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        """Data, model and objective, all at once: a recipe of yours may make them here, without task and learner."""
        return self.begin().job(rank, world)

    def expect_resumable(self, run: "Run") -> None:
        """What a run that goes on needs, besides its data and its checkpoints, must be there as it was."""

    def smaller(self) -> str:
        """What to lower when memory runs out."""
        return f"lower batch={self.batch} (with a higher accumulate={self.accumulate} a step stays as large)"

    def smaller_before(self) -> str:
        """What to lower when memory runs out before the first batch is taken."""
        return without_batch(self.smaller()) or "use less data, or a smaller model"

    def open_model(self, config: dict[str, Any]) -> "nn.Module":
        """The untrained model of a run's config.json: by default, the one that its spec describes."""
        from cutaway.models.by_spec import from_spec, spec_from_dict

        if config.get("spec") is None:
            raise self._cannot("be loaded, as its model has no spec: define open_model in the recipe")
        if not isinstance(config["spec"], dict):
            raise ValueError(
                f"config.json must hold the spec of a run's model as an object, got {config['spec']!r}; "
                "take the file from a copy"
            )
        try:
            spec = spec_from_dict(config["spec"])
        except ValueError as error:
            raise ValueError(
                f"config.json must hold the spec of a run's model, got one that does not read ({error}); "
                "take the file from a copy"
            ) from None
        return from_spec(spec)

    def weights_of_base(
        self, model: "nn.Module", about: dict[str, Any], folder: "Path", names: "Collection[str]"
    ) -> "dict[str, Tensor]":
        """Weights of a run that its own file leaves out, as they stand in that of its base; {} if it has none."""
        return {}

    def shapes_of_base(self, about: dict[str, Any], folder: "Path") -> list[tuple[int, ...]]:
        """The shapes of the tensors of a run's base, by which its design is counted; [] if it has none."""
        return []

    def loaded(self, model: "nn.Module") -> None:
        """Completes a model of `open_model` that was given its weights."""

    def _cannot(self, what: str) -> ValueError:
        return ValueError(f"a run of {self.name!r} cannot {what}; `cutaway list recipes` tells what each can do")


@dataclass(frozen=True)
class Begun:
    """A run before its folder is made: settled settings, the task with its data, and the base of a tuned run."""

    recipe: Recipe
    task: "Task | None" = None
    base: Any = None

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        """What the loop runs."""
        if self.task is None:
            return self.recipe.job(rank, world)
        return self.recipe.build(self.task, self.base).job(rank, world)


def memory_advice(recipe: Recipe) -> str:
    """What to lower when memory runs out in training; of a batch of 1, which cannot be lowered, nothing is said.

    >>> memory_advice(Recipe(batch=1))
    'the batch is 1 already: use shorter or smaller inputs, or a smaller model'
    """
    told = recipe.smaller()
    if recipe.batch > 1:
        return told
    return without_batch(told) or "the batch is 1 already: use shorter or smaller inputs, or a smaller model"


def without_idle_patience(recipe: Recipe) -> Recipe:
    """The recipe; without patience where it has no ``validation`` in which something could get better."""
    idle = recipe.patience and not getattr(recipe, "validation", 0)
    return dataclasses.replace(recipe, patience=0) if idle else recipe


def without_batch(told: str) -> str:
    """An advice without what it says of the batch; "" if it says nothing else.

    >>> without_batch("lower batch=8 (a higher accumulate=1 makes up for it), width=64 or depth=2")
    'lower width=64 or depth=2'
    """
    left = re.sub(r"\bbatch=\d+(?: \([^)]*\))?(?:, or |, | or )?", "", told)
    left = re.sub(r"(?: or|,) *$", "", left).strip()
    return "" if left == "lower" else left
