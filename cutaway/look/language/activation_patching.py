r"""Activation patching finds the inner values that carry the difference between two texts.

    recovered = (score(corrupted, value ← clean) − score(corrupted)) / (score(clean) − score(corrupted))

The model runs over the corrupted text while one value is replaced by what it was over the clean one: 1 where that
alone brings the clean answer back, 0 where it does nothing. The score is the difference of two logits, after the last
token. Vig et al. 2020; Meng et al. 2022 (causal tracing); the metric: Zhang and Nanda 2024.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import find_sites, named_sites
from cutaway.inside.results import rebuilt, tensors
from cutaway.inside.tracing import patch, trace
from cutaway.look.charts.arrays import short_names
from cutaway.look.charts.grids import fits_a_grid, grid_chart, in_cells
from cutaway.look.charts.heatmaps import Shades, heatmap
from cutaway.look.language.layouts import Layout, Parts
from cutaway.look.language.passes import Answer, Decode, Tokens, as_tokens, at_rest, run, score, tolerance, words_for
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import SIGNED
from cutaway.look.style.wording import number, visible

_ROWS = 64  # examples in one pass, at most
Put = Callable[[Tensor, Tensor, Tensor, Tensor], None]

_CAPTION = "Strong cells carry the difference between the two texts: this value alone brings the answer back."


@dataclass(frozen=True)
class Recovery:
    """The share of the clean score that each patch brings back: (sites, columns), columns being positions or heads.

    ``scores`` are those of the clean and of the corrupted text; ``texts`` their tokens.
    """

    recovered: np.ndarray
    sites: list[str]
    by: str  # "position" or "head"
    scores: tuple[float, float]
    texts: tuple[list[str], list[str]]


def recovery_by_position(
    model: nn.Module,
    clean: Tokens,
    corrupted: Tokens,
    answer: Answer,
    wrong: int | None = None,
    *,
    sites: str | Sequence[str] | None = None,
    layout: Layout | None = None,
    decode: Decode | None = None,
) -> Recovery:
    """Patches every site at one position after the other; the texts have one length.

    ``sites`` are addresses of values (batch, time, …), by default the residual stream as it enters the first layer and
    as it leaves each. ``answer`` and ``wrong`` are tokens, or ``answer`` a function from logits to scores.
    """
    if sites is None:
        layers = Parts(model, layout).layers
        sites = [f"{layers[0]}.input", *layers]

    def put(new: Tensor, kept: Tensor, rows: Tensor, positions: Tensor) -> None:
        new[rows, positions] = kept[0, positions]

    texts = _Texts(model, clean, corrupted, answer, wrong)
    length = texts.clean.shape[1]
    return texts.recovery(_addresses(model, sites), lambda _, shape: _expect_time(shape, length), put, decode)


def recovery_by_head(
    model: nn.Module,
    clean: Tokens,
    corrupted: Tokens,
    answer: Answer,
    wrong: int | None = None,
    *,
    layout: Layout | None = None,
    decode: Decode | None = None,
) -> Recovery:
    """Patches the output of one head after the other, at all positions, before the heads are brought together."""
    parts = Parts(model, layout)
    sites = [f"{address}.input" for address in parts.addresses("attention")]

    def count(address: str, shape: tuple[int, ...]) -> int:
        return parts.heads(address.removesuffix(".input"))

    heads = count(sites[0], ())

    def put(new: Tensor, kept: Tensor, rows: Tensor, chosen: Tensor) -> None:
        by_head = new.view(*new.shape[:2], heads, -1)  # side by side: time, then heads
        by_head[rows, :, chosen] = kept[0].view(kept.shape[1], heads, -1).transpose(0, 1)[chosen]

    found = _Texts(model, clean, corrupted, answer, wrong).recovery(sites, count, put, decode)
    return Recovery(found.recovered, found.sites, "head", found.scores, found.texts)


class _Texts:
    """The clean and the corrupted text, the model, and the score that is compared."""

    def __init__(
        self, model: nn.Module, clean: Tokens, corrupted: Tokens, answer: Answer, wrong: int | None = None
    ) -> None:
        self.model, self.answer, self.wrong = model, answer, wrong
        self.clean, self.corrupted = (
            as_tokens(name, tokens, model) for name, tokens in (("clean", clean), ("corrupted", corrupted))
        )
        if self.clean.shape != self.corrupted.shape:
            raise ValueError(
                f"clean and corrupted must have one length, so that positions correspond, got {self.clean.shape[1]} "
                f"and {self.corrupted.shape[1]} tokens; reword one of them"
            )

    def score(self, tokens: Tensor) -> Tensor:
        return score(run(self.model, tokens), self.answer, self.wrong)

    @torch.no_grad()
    def recovery(
        self, sites: list[str], count: Callable[[str, tuple[int, ...]], int], put: Put, decode: Decode | None
    ) -> Recovery:
        with at_rest(self.model):
            with trace(self.model, sites, clone=True) as seen:
                high = self.score(self.clean)
            low = self.score(self.corrupted)
            if not float((high - low).abs()) > tolerance(torch.stack([high, low])):
                raise ValueError(
                    f"the clean and the corrupted text must lead to different scores, got {float(high):.6g} and "
                    f"{float(low):.6g}; choose texts after which the model answers differently"
                )
            rows = []
            for address in sites:
                kept = _only_value(seen.calls[address], address)
                n = count(address, tuple(kept.shape))
                scores = [self._patched(address, kept, put, part) for part in torch.arange(n).split(_ROWS)]
                rows.append((torch.cat(scores) - low) / (high - low))
        word = words_for(self.model, decode)
        texts = tuple([word(token) for token in x[0].tolist()] for x in (self.clean, self.corrupted))
        recovered = torch.stack(rows).double().cpu().numpy()
        return Recovery(recovered, sites, "position", (float(high), float(low)), (texts[0], texts[1]))

    def _patched(self, address: str, kept: Tensor, put: Put, chosen: Tensor) -> Tensor:
        """The scores of as many copies of the corrupted text, each with one of the chosen places made clean."""
        rows = torch.arange(len(chosen))

        def edit(value: Any) -> Any:
            old = next(tensors(value))
            new = old.clone()
            put(new, kept, rows, chosen)
            return rebuilt(value, lambda x: new if x is old else x)

        with patch(self.model, {address: edit}):
            output = run(self.model, self.corrupted.expand(len(chosen), -1))
        return score(output, self.answer, self.wrong)


def _addresses(model: nn.Module, sites: str | Sequence[str]) -> list[str]:
    known = named_sites(model)
    patterns = [sites] if isinstance(sites, str) else sites
    return list(dict.fromkeys(address for pattern in patterns for address in find_sites(known, pattern)))


def _only_value(calls: list[Any], address: str) -> Tensor:
    found = next(tensors(calls[0]), None)
    if len(calls) != 1 or found is None or found.shape[:1] != (1,):
        what = f"{len(calls)} calls" if len(calls) != 1 else "none" if found is None else f"shape {tuple(found.shape)}"
        raise ValueError(
            f"a site must give one tensor with a batch axis in a pass, got {what} at {address!r}; choose another site"
        )
    return found


def _expect_time(shape: tuple[int, ...], length: int) -> int:
    if len(shape) < 2 or shape[1] != length:
        raise ValueError(
            f"a site must have the {length} positions on the axis after the batch, got shape {shape}; choose the "
            "output of a layer, or recovery_by_head for heads"
        )
    return length


def patching_map(recovery: Recovery, *, title: str = "Activation patching") -> Picture:
    """How much of the clean answer each patch brings back: 1 all of it, 0 nothing, below 0 the wrong way."""
    r = recovery.recovered
    clean, corrupted = recovery.texts
    rows = _site_names(recovery.sites)
    axes = ("patched at", recovery.by)
    if recovery.by == "position":
        pairs = zip(clean, corrupted)
        columns = [visible(a, 9) if a == b else f"{visible(b, 7)}→{visible(a, 7)}" for a, b in pairs]
    else:
        columns = [str(i) for i in range(r.shape[1])]
    high, low = recovery.scores
    i, j = np.unravel_index(np.nanargmax(r), r.shape)
    best = f"Most at {rows[i]}, {recovery.by} {j}: {number(float(r[i, j]), 3)}."
    note = (
        f"Share of the clean score brought back (1: {number(high, 3)}, as over the clean text; 0: {number(low, 3)}, as "
        f"over the corrupted one). {best}"
    )
    if not fits_a_grid(r):
        picture = heatmap(r, rows, None, title=title, value="recovered", axes=axes)
        picture.note = f"{note} {picture.note}"
        return picture.captioned(_CAPTION)
    most = max(1.0, float(np.abs(r).max()))
    chart, data = grid_chart(r, in_cells(r, 2), (rows, columns), axes, Shades(SIGNED, -most, most), "recovered")
    alt = f"Heat map of the clean score recovered by patching {r.shape[0]} sites at {r.shape[1]} {recovery.by}s. {best}"
    return Picture(chart, title, alt, note, data, caption=_CAPTION)


def _site_names(sites: list[str]) -> list[str]:
    """Layers by their numbers; what enters the first of them as the embedding."""
    inputs = [site.endswith(".input") for site in sites]
    if inputs[0] and not any(inputs[1:]) and len(sites) > 1 and sites[0].removesuffix(".input") == sites[1]:
        return ["embedding", *(f"layer {i}" for i in range(len(sites) - 1))]
    names = short_names(sites)
    return [f"layer {name}" if name.isdigit() else name for name in names]
