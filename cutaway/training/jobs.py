r"""A job is what the loop trains: a model, its batches, and the objective to minimise.

cost = objective(model, batch)          a scalar to go down
evaluate(model) → {"loss": …}           on the validation split; {} if there is none

A job may bring steps of its own, for models that learn faster by a rule written out than by autograd:

update(model, batch, share) → {"loss": …}    learns from one batch, at that share of the full learning rate

A job declares its figure: the metric of `evaluate` that people came for, by which the loop chooses the weights that a
run ends with (`Loop`).

    classes, tags       accuracy, or the share of errors        language, values    loss
    links               AUC                                     forecasts           weighted quantile loss
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.training.callbacks import Callback


def no_samples(model: nn.Module) -> dict[str, str]:
    return {}


@dataclass
class Job:
    """Model, data and objective of one run. A recipe makes it; the loop runs it."""

    model: nn.Module
    batches: Batches[Any]
    objective: Callable[[nn.Module, Any], Tensor]
    evaluate: Callable[[nn.Module], dict[str, float]]
    units: int = 1  # what one batch holds, for the speed shown: tokens, rows, pairs
    unit: str = "rows"
    samples: Callable[[nn.Module], dict[str, str]] = no_samples  # name → text, written at every evaluation
    files: dict[str, Callable[[Path], None]] = field(default_factory=dict)  # written once into the run folder
    data: dict[str, Any] = field(default_factory=dict)  # what config.json says of the data
    whole: Callable[[nn.Module], dict[str, float]] | None = None  # the whole validation split, once, at the end
    calibrate: Callable[[nn.Module], dict[str, float] | None] | None = (
        None  # sets what is fitted once, to the weights that a run ends with; returns what to log of it, if anything
    )
    callbacks: list[Callback] = field(default_factory=list)  # that the objective needs: to keep a state in checkpoints
    parts: Callable[[Any], list[tuple[Any, float]]] | None = (
        None  # of a batch, each with its share of the cost: computed one after another, they take less memory
    )
    update: Callable[[nn.Module, Any, float], dict[str, float]] | None = None  # in place of gradients and optimizers
    shares: "dict[nn.Parameter, float] | None" = None  # of the learning rate, by parameter; None for all the same
    finish: Callable[[nn.Module, Path], None] | None = None  # writes what a finished run has beside its weights
    left_out: frozenset[str] = frozenset()  # weights that no step changes and that stand in the file of a base
    keeps_state: bool = True  # whether a finished run keeps its last checkpoints
    better: str = "loss"  # the figure: the metric that says which weights are best; "loss" breaks ties
    more_is_better: bool = False  # whether a higher figure is better, as with accuracy
    start_counts: bool = False  # whether the weights before the first step are fitted already, and may be the result
