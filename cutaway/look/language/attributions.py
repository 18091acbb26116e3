r"""Input attributions measure how much each input matters to the answer: by gradients, or integrated gradients.

    gradient               ∂f/∂x_i                                       Simonyan, Vedaldi, Zisserman 2014
    gradient × input       x_i ∂f/∂x_i                                   Shrikumar et al. 2016
    integrated gradients   (x_i − x̄_i) ∫₀¹ ∂f/∂x_i (x̄ + α (x − x̄)) dα    Sundararajan, Taly, Yan 2017

The last are complete: they add up to f(x) − f(x̄). The integral is a Gauss–Legendre sum, exact for polynomials of
degree 2·steps − 1; the ``gap`` is by how much the sum misses completeness. f is one number of the output, and x the
input itself or any value inside the model, such as the embeddings of tokens.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import find_sites, named_sites
from cutaway.inside.tracing import patch, trace
from cutaway.look.charts.bars import bar_chart
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.language.layouts import Parts
from cutaway.look.language.passes import Answer, Tokens, as_tokens, at_rest, run, score
from cutaway.look.language.passes import tolerance as rounding
from cutaway.look.language.token_strips import token_strip
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number

_ROWS = 64  # examples in one pass, at most


@dataclass(frozen=True)
class Attributions:
    """One number for each number of x, without the batch axis; ``score`` is f(x).

    Of integrated gradients also f at the baseline, and the ``gap`` = Σ values − (f(x) − f(x̄)).
    """

    values: np.ndarray
    kind: str
    score: float
    at: str | None = None  # the address of x; None: the input
    baseline: float | None = None
    gap: float | None = None

    @property
    def by_token(self) -> np.ndarray:
        """Summed over the width of each vector: (time)."""
        total: np.ndarray = self.values.sum(-1)
        return total


def saliency(
    model: Callable[..., Any],
    inputs: Tokens,
    answer: Answer | None = None,
    wrong: int | None = None,
    *,
    at: str | None = None,
) -> Attributions:
    """∂f/∂x: how much the answer would change, for each number of the input (or of the value ``at`` an address).

    ``inputs`` are a batch of one, or the tokens of one text; these are attributed at their embedding. ``answer`` is
    the output asked about (``wrong`` is subtracted), of texts after the last token; or a function from outputs to one
    number an example.
    """
    asked = _Question(model, inputs, answer, wrong, at)
    f, gradient = asked.gradients(asked.x)
    return Attributions(gradient[0].double().cpu().numpy(), "gradient", float(f[0]), asked.at)


def gradient_times_input(
    model: Callable[..., Any],
    inputs: Tokens,
    answer: Answer | None = None,
    wrong: int | None = None,
    *,
    at: str | None = None,
) -> Attributions:
    """x ⊙ ∂f/∂x: what each number adds to the answer, as far as f is linear; see `saliency` for the arguments."""
    asked = _Question(model, inputs, answer, wrong, at)
    f, gradient = asked.gradients(asked.x)
    return Attributions((asked.x * gradient)[0].double().cpu().numpy(), "gradient × input", float(f[0]), asked.at)


def integrated_gradients(
    model: Callable[..., Any],
    inputs: Tokens,
    answer: Answer | None = None,
    wrong: int | None = None,
    *,
    at: str | None = None,
    baseline: Tensor | float | None = None,
    steps: int = 32,
    tolerance: float = 0.01,
) -> Attributions:
    """(x − x̄) ⊙ ∫ ∂f/∂x on the line from the ``baseline`` x̄ to x; see `saliency` for the other arguments.

    The baseline is 0 unless given, and for tokens their mean embedding: to a norm without a mean (Llama's) all points
    between 0 and x are the same, and all change would be within √ε of 0. Warns where the sum misses f(x) − f(x̄) by more
    than ``tolerance`` of it: take more ``steps``.
    """
    if steps < 1:
        raise ValueError(f"steps must be 1 or more, got {steps}; try steps=32")
    asked = _Question(model, inputs, answer, wrong, at)
    start = _as_baseline(asked.nothing() if baseline is None else baseline, asked.x)
    nodes, weights = (torch.as_tensor(a) / 2 for a in np.polynomial.legendre.leggauss(steps))  # of [−1, 1]
    line = asked.x - start
    mean = torch.zeros_like(line)
    for alpha, weight in zip((nodes + 0.5).split(_ROWS), weights.split(_ROWS)):
        shape = (-1,) + (1,) * (line.ndim - 1)
        _, gradient = asked.gradients(start + alpha.to(line).view(shape) * line)
        mean += (weight.to(line).view(shape) * gradient).sum(0, keepdim=True)
    values = line * mean
    ends = torch.cat([asked.scores(asked.x), asked.scores(start)]).detach()
    f, before = (float(end) for end in ends)
    gap = float(values.double().sum()) - (f - before)
    if abs(gap) > max(tolerance * abs(f - before), rounding(ends)):
        warnings.warn(
            f"integrated gradients must add up to f(x) − f(baseline) = {f - before:.4g}, got {f - before + gap:.4g} "
            f"with steps={steps}; try steps={4 * steps}",
            stacklevel=2,
        )
    return Attributions(values[0].double().cpu().numpy(), "integrated gradients", f, asked.at, before, gap)


def _as_baseline(baseline: Tensor | float, x: Tensor) -> Tensor:
    given = torch.as_tensor(baseline).to(x)
    try:
        return given.expand(x.shape)
    except RuntimeError:
        raise ValueError(
            f"baseline must broadcast to the value's shape {tuple(x.shape)}, got {tuple(given.shape)}; "
            "give it that shape, or one number"
        ) from None


class _Question:
    """f and x: the model from the value at an address on, and that value over one input."""

    def __init__(
        self, model: Callable[..., Any], inputs: Tokens, answer: Answer | None, wrong: int | None, at: str | None
    ) -> None:
        if torch.is_inference_mode_enabled():
            raise ValueError("gradients must be taken outside of torch.inference_mode(), got it on; leave its block")
        self.model, self.asked = model, (answer, wrong)
        self.inputs = inputs if isinstance(inputs, Tensor) else torch.as_tensor(inputs)
        if not self.inputs.is_floating_point():
            if not isinstance(model, nn.Module):
                raise ValueError(
                    f"a function must be given real numbers to have gradients, got {self.inputs.dtype}; "
                    "pass the model itself and the address at which tokens become vectors, at='embed'"
                )
            self.inputs = as_tokens("inputs", self.inputs, model)
            at = Parts(model).part("embed") if at is None else at
        elif self.inputs.ndim == 0 or self.inputs.shape[0] != 1:
            raise ValueError(
                f"inputs must be a batch of one, got shape {tuple(self.inputs.shape)}; pass x[:1], or x[None]"
            )
        self.at = at
        self.x = self.inputs.detach() if at is None else self._read(at)

    def _read(self, at: str) -> Tensor:
        if not isinstance(self.model, nn.Module):
            raise ValueError(f"an address is in a model, got at={at!r} with a function; pass the nn.Module itself")
        with torch.no_grad(), at_rest(self.model), trace(self.model, at, detach=True) as seen:
            run(self.model, self.inputs)
        calls = [value for values in seen.calls.values() for value in values]
        value = calls[0]
        if len(calls) != 1 or not isinstance(value, Tensor) or not value.is_floating_point() or value.shape[:1] != (1,):
            what = f"{type(value).__name__}" if len(calls) == 1 else f"{len(calls)} values, the first"
            what += f" {tuple(value.shape)} of {value.dtype}" if isinstance(value, Tensor) else ""
            raise ValueError(
                f"at must name one tensor of real numbers with a batch axis, got {what} at {at!r}; "
                "choose another address"
            )
        return value

    def nothing(self) -> Tensor | float:
        """The baseline of no information: the mean of all embeddings for tokens, else 0."""
        if self.at is None or self.inputs.is_floating_point():
            return 0.0
        assert isinstance(self.model, nn.Module)
        rows = getattr(next(iter(find_sites(named_sites(self.model), self.at).values())).module, "weight", None)
        by_token = isinstance(rows, Tensor) and rows.ndim == 2 and rows.shape[-1:] == self.x.shape[-1:]
        return rows.detach().mean(0) if isinstance(rows, Tensor) and by_token else 0.0

    def scores(self, points: Tensor) -> Tensor:
        """f at each of the points (batch, …)."""
        inputs = points if self.at is None else self.inputs.expand(len(points), *self.inputs.shape[1:])
        instead = patch(self.model, {self.at: lambda _: points}) if self.at is not None else nullcontext()  # type: ignore[arg-type]
        with at_rest(self.model), instead:
            output = run(self.model, inputs)
        return score(output, *self.asked)

    def gradients(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """f and ∂f/∂x at each of the points."""
        with torch.enable_grad():
            x = points.detach().requires_grad_()
            f = self.scores(x)
            found = torch.autograd.grad(f.sum(), x, allow_unused=True)[0] if f.requires_grad else None
        if found is None:
            where = "the input" if self.at is None else repr(self.at)
            raise ValueError(
                f"the answer must depend on what it is attributed to by a way that has gradients, got none back to "
                f"{where}; look for a detach(), an argmax or no_grad() in the model, or choose another address"
            )
        return f.detach(), found


def saliency_map(attributions: Attributions, names: Sequence[str] | None = None, *, title: str = "") -> Picture:
    """A picture of attributions. ``names`` are the tokens of a text, or the features of a table.

    Vectors of tokens (time, width), taken at an address, are summed over their width; channels of an image (channels,
    height, width) over the channels. The note tells how far integrated gradients are from adding up.
    """
    a = attributions
    title = title or a.kind[0].upper() + a.kind[1:]
    values = a.values
    if a.at is not None and values.ndim == 2:
        picture = token_strip(a.by_token, names or list(map(str, range(len(values)))), title=title, value=a.kind)
    elif values.ndim == 1:
        names = [f"input {i}" for i in range(len(values))] if names is None else names
        if len(names) != len(values):
            raise ValueError(f"there must be a name for every input, got {len(names)} for {len(values)}; give them all")
        numbers = {
            f"{name}" if list(names).count(name) == 1 else f"{name} ({i})": x
            for i, (name, x) in enumerate(zip(names, values.tolist()))
        }
        chart, rows = bar_chart(numbers, a.kind, of="input")
        strongest = max(numbers, key=lambda name: abs(numbers[name]))
        words = f"Strongest: {strongest}, {number(numbers[strongest], 3)}."
        alt = f"Bars: {a.kind} of {len(numbers)} inputs. {words}"
        picture = Picture(
            chart, title, alt, words, rows, caption="The longer its bar, the more the answer depends on that input."
        )
    elif values.ndim in (2, 3):
        flat = values if values.ndim == 2 else values.sum(0)
        picture = heatmap(flat, title=title, value=a.kind)
        picture = picture.captioned("Strong colours mark the places that the answer depends on.")
    else:
        raise ValueError(
            f"attributions are drawn for features, tokens or images, got shape {values.shape}; sum over an axis first"
        )
    picture.note = f"{_score_note(a)} {picture.note}".strip()
    return picture


def _score_note(a: Attributions) -> str:
    if a.gap is None or a.baseline is None:
        return f"The score is {number(a.score)}."
    return (
        f"The score is {number(a.score)}, {number(a.baseline)} at the baseline: a difference of "
        f"{number(a.score - a.baseline)}, which the attributions miss by {number(a.gap, 2)}."
    )
