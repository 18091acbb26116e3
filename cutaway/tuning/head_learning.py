r"""How a new head of labels takes part in a job: fitted first, or all there is to learn; calibrated at the end.

a head alone       step 1 solves for its last layer; steps that were asked for go on from there
more than a head   its last layer is fitted before the first step, so that it does not pull the body away
at the end         W, b ← W / T, b / T, with T by the validation part
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from cutaway.tasks.linear_heads import Features, fit_head, last_layer
from cutaway.tasks.temperature import FEW, find_temperature
from cutaway.training.jobs import Job

Scores = Callable[[Any], tuple[Tensor, Tensor]]  # of a model: logits of the validation part, and its labels


def learn_head(
    job: Job, recipe: Any, features: Features, labels: Int[np.ndarray, "n"], known: bool, world: int = 1
) -> None:
    """Fits the head of a job's model: in its one step if that is all it has, else before the first."""
    if recipe.head_only and recipe.steps == 1 and world == 1 and not recipe.ema:  # an average has nothing to solve

        def solve(model: nn.Module, batch: Any, share: float) -> dict[str, float]:
            found = fit_head(model, features, labels, recipe.seed, known)
            if found is None:
                with torch.no_grad():
                    return {"loss": job.objective(model, batch).item()}
            return {"loss": found.loss}

        job.update = solve
        return
    job.start_counts = recipe.head_only
    fit_head(job.model, features, labels, recipe.seed, known)


def calibrate(model: Any, scores: Scores) -> dict[str, float]:
    """Divides the last layer by the temperature of the validation part, if that has enough examples; returns it."""
    layer = last_layer(model.head)
    if layer is None or not layer.weight.requires_grad:
        return {}
    logits, labels = scores(model)
    if len(labels) < FEW:
        return {}
    temperature = find_temperature(logits, labels)
    with torch.no_grad():
        layer.weight.div_(temperature)
        if layer.bias is not None:
            layer.bias.div_(temperature)
    return {"temperature": temperature}


__all__ = ["calibrate", "learn_head"]
