r"""A new head is fitted to the features of the base: that is all that a head alone learns, and the start of the rest.

    W, b = argmin  mean −log softmax(r W + b)_y + ‖σ W‖² / (2 C n)      σ: the spreads of the features r
    W, b ← W / T, b / T

The last layer of a head is logistic regression on what it reads, a convex problem with one answer, of few examples as
of many (pretraining/linear_probes.py). C and T are those by which examples that were left out are most likely, by
cross-validation on the training part, each class in its share: without that, few examples of many features are told
apart at any cost, and the head is sure of what it does not know. A hidden layer and an attention that pools stay as
they are. Rows of labels that the base knew are kept as far as the examples do not speak against them.

A random head would pull the body away from what it knows: Kumar et al. 2022 (linear probing, then fine-tuning).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.tasks.frozen_features import Representation
from cutaway.tasks.linear_probes import LogisticFit, solve_logistic, standardise
from cutaway.tasks.temperature import find_temperature
from cutaway.waiting import doing

_STRENGTHS = tuple(10.0 ** (half / 2) for half in range(-4, 5))  # C times the width: the wider, the smaller each weight
_USUAL = 10.0  # where there are too few examples of each class, or too many classes, to choose
_SPREAD = 1e-3  # least of a feature, as a share of the mean one: those that hardly change would get huge weights
_NUMBERS = 1 << 24  # of the features that a head is fitted to, at most: more rows change little
_CHOSEN_BY = 1 << 24  # features times classes that cross-validation sees, at most
_TOGETHER = 64  # examples that go through the head at once, and through the body where their features are not kept
_CLOSE = 1e-4  # slope at which a fit of cross-validation is done: its answer is for a choice alone


Features = Callable[[Int[np.ndarray, "b"]], Representation]


class HeadFit(NamedTuple):
    """How a head was fitted: C, T, and the mean of −log p of its examples."""

    strength: float
    temperature: float
    loss: float


@torch.no_grad()
def fit_head(
    model: Any, features: Features, labels: Int[np.ndarray, "n"], seed: int, known: bool = False
) -> HeadFit | None:
    """Fits the last layer of a model's head to features, from zero or, if ``known``, from what it is.

    Of features that are not kept, no more are computed than are used; those of similar ``lengths``, if they have them,
    together. None if that layer does not learn, or if there is but one class.
    """
    layer = last_layer(model.head)
    if layer is None or not layer.weight.requires_grad or len(np.unique(labels)) < 2:
        return None
    rows = even_rows(len(labels), max(1, _NUMBERS // layer.weight.shape[0]))
    with doing(f"fitting the head to the features of {len(rows):,} examples"):
        return _fit_layer(model, layer, features, labels, rows, seed, known)


def _fit_layer(
    model: Any,
    layer: Linear,
    features: Features,
    labels: Int[np.ndarray, "n"],
    rows: Int[np.ndarray, "m"],
    seed: int,
    known: bool,
) -> HeadFit:
    lengths = getattr(features, "lengths", None)
    if lengths is not None:
        rows = rows[np.argsort(lengths[rows], kind="stable")]
    x = _inputs_of(model, layer, features, rows)
    y = torch.from_numpy(labels[rows])
    offsets = None
    if known:
        offsets = x @ layer.weight.double().cpu() + (0 if layer.bias is None else layer.bias.double().cpu())
    r, mean, spread = standardise(x, _SPREAD)
    if layer.bias is None:
        r, mean = x / spread, torch.zeros_like(mean)
    # Of fewer examples than features, the answer lies in the span of the examples: their coordinates there are enough.
    span = torch.linalg.qr(r.T).Q if len(r) < r.shape[1] else None
    problem = _Problem(r if span is None else r @ span, y, layer.weight.shape[1], layer.bias is not None, offsets)
    strength, temperature = _choose(problem, seed, layer.weight.shape[0])
    fit = problem.solve(strength / layer.weight.shape[0])
    weight = (fit.weight if span is None else span @ fit.weight) / spread[:, None]
    bias = fit.bias - mean @ weight
    layer.weight.copy_((weight.to(layer.weight) + (layer.weight if known else 0)) / temperature)
    if layer.bias is not None:
        layer.bias.copy_((bias.to(layer.bias) + (layer.bias if known else 0)) / temperature)
    loss = nn.functional.cross_entropy(problem.logits(fit) / temperature, y)
    return HeadFit(strength, temperature, loss.item())


def last_layer(head: nn.Module) -> Linear | None:
    """The linear map whose outputs are the logits of a head; None if it ends otherwise."""
    layer = getattr(head, "linear", getattr(head, "classify", None))
    return layer if isinstance(layer, Linear) else None


def even_rows(count: int, most: int) -> Int[np.ndarray, "m"]:
    """All rows, or as many as are allowed, evenly."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def _inputs_of(model: Any, layer: Linear, features: Features, rows: Int[np.ndarray, "m"]) -> Float[Tensor, "m w"]:
    """What the last layer of a head reads of some examples."""
    seen: list[Tensor] = []
    handle = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().double().cpu()))
    training = model.training
    model.eval()  # no dropout: features are those of the body as it is
    try:
        for some in np.array_split(rows, -(-len(rows) // _TOGETHER)):
            found = features(some)
            model.decide(found.values, found.mask)
    finally:
        handle.remove()
        model.train(training)
    return torch.cat(seen)


class _Problem(NamedTuple):
    """Features and classes that a last layer is fitted to, beside logits that are there already."""

    x: Float[Tensor, "n d"]
    y: Int[Tensor, "n"]
    classes: int
    with_bias: bool
    offsets: Float[Tensor, "n k"] | None = None

    def solve(self, strength: float, start: LogisticFit | None = None, close: float = 1e-6) -> LogisticFit:
        return solve_logistic(self.x, self.y, self.classes, strength, start, self.offsets, self.with_bias, close)

    def logits(self, fit: LogisticFit) -> Float[Tensor, "n k"]:
        found = self.x @ fit.weight + fit.bias
        return found if self.offsets is None else found + self.offsets

    def take(self, rows: Tensor) -> "_Problem":
        offsets = None if self.offsets is None else self.offsets[rows]
        return self._replace(x=self.x[rows], y=self.y[rows], offsets=offsets)


def _choose(problem: _Problem, seed: int, width: int) -> tuple[float, float]:
    """C, as times the width, and T by cross-validation: the least mean −log p of examples that were left out."""
    most = _CHOSEN_BY // (problem.x.shape[1] * problem.classes)
    problem = problem.take(torch.from_numpy(even_rows(len(problem.y), max(1, most))))
    sizes = torch.bincount(problem.y, minlength=problem.classes)
    if len(problem.y) < 4 * problem.classes or int(sizes.max()) == len(problem.y):
        return _USUAL, 1.0
    splits = list(_splits(problem.y.numpy(), seed))
    starts: list[LogisticFit | None] = [None] * len(splits)
    best, worse = (np.inf, _USUAL, 1.0), 0
    for strength in _STRENGTHS:
        logits, truth = [], []
        for place, (learned, left_out) in enumerate(splits):
            part, rest = problem.take(learned), problem.take(left_out)
            starts[place] = fit = part.solve(strength / width, starts[place], _CLOSE)
            # What is left out is missing among what is learned: without this, a rare class would look rarer still.
            missing = (_log_shares(problem) - _log_shares(part)) if problem.with_bias else 0.0
            logits.append(rest.logits(fit) + missing)
            truth.append(rest.y)
        scores, answers = torch.cat(logits), torch.cat(truth)
        temperature = find_temperature(scores, answers)
        loss = nn.functional.cross_entropy(scores / temperature, answers).item()
        worse = 0 if loss < best[0] else worse + 1
        best = min(best, (loss, strength, temperature))
        if worse == 2:
            break
    return best[1], best[2]


def _log_shares(problem: _Problem) -> Float[Tensor, "k"]:
    counts = torch.bincount(problem.y, minlength=problem.classes).double()
    return ((counts + 0.5) / (counts + 0.5).sum()).log()


def _splits(y: Int[np.ndarray, "n"], seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows to learn from and rows left out, several times; each class is in every part in its share.

    Few examples are parted into more folds, and that again and again, so that the choice is not one of chance.
    """
    folds, times = (3, 1) if len(y) > 500 else (5, 2) if len(y) > 100 else (8, 4)
    draw = np.random.default_rng(seed)
    for _ in range(times):
        order = draw.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]  # class by class, at random within each
        fold = np.empty(len(y), np.int64)
        fold[order] = np.arange(len(y)) % folds
        for number in range(folds):
            yield torch.from_numpy(np.flatnonzero(fold != number)), torch.from_numpy(np.flatnonzero(fold == number))


__all__ = ["HeadFit", "even_rows", "fit_head", "last_layer"]
