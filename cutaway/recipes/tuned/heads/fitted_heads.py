r"""A new head is fitted to the features of the base before anything else learns.

    W, b = argmin  mean −log softmax(r W + b)_y + ‖σ W‖² / (2 C n)      a head that is one linear map; C = 10 / width
    AdamW on the same cost, at least 300 steps                          other heads: a hidden layer, attention

A random head would pull the body away from what it knows. The first is a linear probe (pretraining/linear_probes.py):
σ are the spreads of the features r, and few examples are fitted as well as many. Both are the same for the same seed.
Kumar et al. 2022 (linear probing, then fine-tuning).
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.recipes.pretraining.linear_probes import fit_probe
from cutaway.recipes.tuned.heads.frozen_features import KeptFeatures

_STRENGTH = 10.0  # C times the width of the features: the wider they are, the smaller each weight has to be
_SPREAD = 1e-3  # least of a feature, as a share of the mean one: those that hardly change would get huge weights
_NUMBERS = 1 << 24  # of the features that a linear map is fitted to, at most: more rows change little
_EPOCHS, _LEAST_STEPS, _BATCH, _RATE, _DECAY = 20, 300, 64, 5e-3, 0.01


def fit_head(
    model: Any, features: KeptFeatures, labels: Int[np.ndarray, "n"], seed: int, from_zero: bool = True
) -> None:
    """Fits the head of a model to kept features; not ``from_zero`` it goes on from the weights that it has."""
    layer = only_map(model.head)
    if layer is not None and features.starts is None and from_zero:
        _fit_map(layer, features.values, torch.from_numpy(labels))
    else:
        _fit_by_steps(model, features, labels, seed)


def only_map(head: nn.Module) -> Linear | None:
    """The linear map, with a bias, that a head consists of; None if there is more to it, or not all of it learns."""
    layer = getattr(head, "linear", getattr(head, "classify", None))
    if not isinstance(layer, Linear) or layer.bias is None:
        return None
    whole = {id(parameter) for parameter in head.parameters() if parameter.requires_grad}
    return layer if whole == {id(layer.weight), id(layer.bias)} and len(list(head.parameters())) == 2 else None


@torch.no_grad()
def _fit_map(layer: Linear, x: Float[Tensor, "n w"], y: Int[Tensor, "n"]) -> None:
    most = max(1, _NUMBERS // x.shape[1])
    rows = torch.arange(len(x)) if len(x) <= most else torch.linspace(0, len(x) - 1, most).long()
    probe = fit_probe(x[rows.to(x.device)].cpu(), y[rows], layer.weight.shape[1], _STRENGTH / x.shape[1], _SPREAD)
    assert layer.bias is not None
    layer.weight.copy_(probe.weight / probe.spread[:, None])
    layer.bias.copy_(probe.bias - probe.mean / probe.spread @ probe.weight)


def _fit_by_steps(model: Any, features: KeptFeatures, labels: Int[np.ndarray, "n"], seed: int) -> None:
    """AdamW with a rate that falls to 0, on the parameters of the head that learn."""
    learned = [parameter for parameter in model.head.parameters() if parameter.requires_grad]
    if not learned:
        return
    optimizer = torch.optim.AdamW(learned, lr=_RATE, weight_decay=_DECAY)
    draw = torch.Generator().manual_seed(seed)
    targets = torch.from_numpy(labels)
    epoch = -(-len(labels) // _BATCH)
    epochs = max(_EPOCHS, -(-_LEAST_STEPS // epoch))
    training, step = model.training, 0
    model.eval()  # no dropout: features are those of the body as it is
    for _ in range(epochs):
        for rows in torch.randperm(len(labels), generator=draw).split(_BATCH):
            for group in optimizer.param_groups:
                group["lr"] = _RATE * (1 - step / (epochs * epoch))
            found = features(rows.numpy())
            logits = model.decide(found.values, found.mask).float()
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, targets[rows].to(logits.device)).backward()
            optimizer.step()
            step += 1
    optimizer.zero_grad()
    model.train(training)


__all__ = ["fit_head", "only_map"]
