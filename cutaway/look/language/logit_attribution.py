r"""Direct logit attribution splits a token's logit into the parts that each head, MLP and embedding has added to it.

    x = Σ_c c                                the residual stream is a sum of what was written into it
    norm(x) = γ ⊙ P x / s(x) + β             P takes the mean away in layer norm and nothing in RMS norm
    logit = Σ_c ⟨u, γ ⊙ P c / s(x)⟩ + ⟨u, β⟩ + b

with u the token's row of the unembedding, or the difference of two rows for the difference of two logits. The scale
s(x) is kept as it was, so that the logit is linear in the parts and they add up to it: exactly, which is checked on
every call. Elhage et al. 2021, "A mathematical framework for transformer circuits". It is the *direct* path alone: what
a head does through later heads is counted there.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace
from cutaway.look.charts.bars import bar_chart
from cutaway.look.charts.grids import fits_a_grid, grid_chart, in_cells
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.language.layouts import Layout, Parts
from cutaway.look.language.passes import Decode, Tokens, as_tokens, at_rest, run, score, tolerance, words_for
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import SIGNED
from cutaway.look.style.wording import number, quoted


@dataclass(frozen=True)
class Contributions:
    """Parts of one logit, or of the difference of two, in logits; they add up to ``total``.

    ``heads`` (layers, heads) and ``mlps`` (layers) are what was written by these; ``bias`` is everything that does not
    depend on the text: of the maps behind the heads, of the last norm and of the unembedding.
    """

    embedding: float
    positions: float
    heads: np.ndarray
    mlps: np.ndarray
    bias: float
    total: float
    answer: str
    wrong: str | None

    def by_part(self) -> dict[str, float]:
        """The parts by name, the heads of a layer as one, in the order in which they were written."""
        layers = enumerate(zip(self.heads.sum(1).tolist(), self.mlps.tolist()))
        written = {f"{kind} {i}": value for i, pair in layers for kind, value in zip(("attention", "mlp"), pair)}
        return {"embedding": self.embedding, "positions": self.positions, **written, "bias": self.bias}


def logit_contributions(
    model: nn.Module,
    tokens: Tokens,
    answer: int,
    wrong: int | None = None,
    *,
    position: int = -1,
    layout: Layout | None = None,
    decode: Decode | None = None,
) -> Contributions:
    """What each part of a language model wrote towards ``answer`` (and away from ``wrong``) at a ``position``.

    ``layout`` and ``decode`` are as in `logit_lens`.
    """
    parts, x = Parts(model, layout), as_tokens("tokens", tokens, model)
    embed, first, last = parts.part("embed"), f"{parts.layers[0]}.input", parts.layers[-1]
    maps, mlps = (parts.addresses(name) for name in ("attention", "mlp"))
    inputs = [f"{address}.input" for address in maps]
    with torch.no_grad(), at_rest(model), trace(model, embed, first, last, inputs, mlps, detach=True) as seen:
        total = score(run(model, x), answer, wrong, position)[0]

    def at(address: str) -> Tensor:
        value = next(tensors(seen[address]))
        return value[0, position]

    stream, entered, embedded = at(last), at(first), at(embed)
    with torch.no_grad():
        heads = torch.stack([_by_head(parts, a, at(f"{a}.input")) for a in maps])
        biases = torch.stack([parts.module(a)(torch.zeros_like(at(f"{a}.input"))) for a in maps])
        written = torch.stack([at(a) for a in mlps])
        _expect_sum(entered + heads.sum((0, 1)) + biases.sum(0) + written.sum(0), stream)
        direct, shift = frozen_norm(parts.norm, stream)
    u, b = _direction(parts, stream, answer, wrong)
    push: Callable[[Tensor], np.ndarray] = lambda c: (direct(c) @ u).double().cpu().numpy()
    word = words_for(model, decode)
    found = Contributions(
        embedding=float(push(embedded)),
        positions=float(push(entered - embedded)),
        heads=push(heads),
        mlps=push(written),
        bias=float(push(biases.sum(0))) + float(shift @ u) + b,
        total=float(total),
        answer=word(answer),
        wrong=None if wrong is None else word(wrong),
    )
    _expect_total(sum(found.by_part().values()), found.total, tolerance(torch.stack([total, stream.abs().max()])))
    return found


def _by_head(parts: Parts, address: str, side_by_side: Tensor) -> Tensor:
    """What each head sends through the map behind all heads, without its bias: (heads, width)."""
    heads, out = parts.heads(address), parts.module(address)
    if side_by_side.numel() % heads:
        raise ValueError(
            f"the heads side by side must have one width, got {side_by_side.numel()} numbers for heads={heads} at "
            f"{address!r}; name the map behind the heads as attention=, and the right heads="
        )
    alone = torch.eye(heads).to(side_by_side)[:, :, None] * side_by_side.view(heads, -1)  # all others zero
    return out(alone.flatten(1)) - out(torch.zeros_like(side_by_side))


def frozen_norm(norm: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """A layer or RMS norm with the scale that it has at x: the linear map c ↦ γ ⊙ P c / s(x), and β.

    They follow from values of the norm, whatever its class: β = ½ (norm(v) + norm(−v)); P is there if norm(v) does not
    change with the mean of v; γ, up to a factor, follows from norm(±1), and that factor from norm(x).
    """
    v = 1 - 2 * (torch.arange(x.shape[-1], device=x.device) % 2).to(x)  # 1, −1, 1, …
    shift = (norm(v) + norm(-v)) / 2
    if torch.equal(norm(2 * v), 2 * v):  # no norm gives that: the identity of a model without a last one
        return lambda c: c, torch.zeros_like(x)
    moved, all_of_it = (float(y.abs().max()) for y in (norm(v + 1) - norm(v), norm(v) - shift))
    centred = moved < 0.01 * all_of_it
    part: Callable[[Tensor], Tensor] = (lambda c: c - c.mean(-1, keepdim=True)) if centred else (lambda c: c)
    gain = (norm(v) - shift) / part(v)
    ours, theirs = gain * part(x), norm(x) - shift
    ratio = (ours @ theirs) / (ours @ ours)
    apart = float((ratio * ours - theirs).abs().max())
    if not apart <= tolerance(theirs):
        raise ValueError(
            f"the last norm must be a layer norm or an RMS norm, got one that differs from both by {apart:.3g}; "
            "name it with layout="
        )
    return lambda c: ratio * gain * part(c), shift


def _direction(parts: Parts, x: Tensor, answer: int, wrong: int | None) -> tuple[Tensor, float]:
    """u and b with logit = ⟨u, y⟩ + b: the unembedding is affine, so its gradient is its row."""
    with torch.enable_grad():
        y = torch.zeros_like(x).requires_grad_()
        at_zero = score(parts.unembed(y)[None], answer, wrong)[0]
        (u,) = torch.autograd.grad(at_zero, y)
    return u, float(at_zero.detach())


def _expect_sum(written: Tensor, stream: Tensor) -> None:
    apart = float((written - stream).abs().max())
    if not apart <= tolerance(stream):
        raise ValueError(
            f"the residual stream must be the sum of what embedding, attention and MLPs write into it, got {apart:.3g} "
            "between the two; post-norm models have no such sum, for others name the parts with layout="
        )


def _expect_total(ours: float, theirs: float, allowed: float) -> None:
    if not abs(ours - theirs) <= 10 * allowed:
        raise ValueError(
            f"the contributions must add up to the model's own logit, got {ours:.6g} for {theirs:.6g}; name the right "
            "norm and unembed with layout=, or scale the output as the model does"
        )


def contribution_map(contributions: Contributions, *, title: str = "Who wrote the logit") -> Picture:
    """The parts that add up to a logit, or to the difference of two, in bars; and the heads, each by itself."""
    import altair as alt

    c = contributions
    parts = {name: value for name, value in c.by_part().items() if name != "positions" or value}
    asked = f"the logit of {quoted(c.answer)}" + ("" if c.wrong is None else f" over {quoted(c.wrong)}")
    bars, bar_rows = bar_chart(parts, "written towards it (logits)", data="parts")
    charts, data = [bars], {"parts": bar_rows}
    if fits_a_grid(c.heads):
        most = float(np.abs(c.heads).max()) or 1.0
        names = tuple([str(i) for i in range(n)] for n in c.heads.shape)
        words = in_cells(c.heads, min(max(2 - math.floor(math.log10(most)), 0), 5))
        shades = Shades(SIGNED, -most, most)
        grid, data["heads"] = grid_chart(
            c.heads, words, (names[0], names[1]), ("layer", "head"), shades, "logits", data="heads"
        )
        charts.append(grid.properties(title=alt.TitleParams("Heads", fontSize=12, fontWeight="normal", offset=6)))
    chart = alt.hconcat(*charts, spacing=40).resolve_scale(color="independent")
    layer, head = np.unravel_index(np.abs(c.heads).argmax(), c.heads.shape)
    largest = f"The strongest head is {head} of layer {layer}: {number(float(c.heads[layer, head]), 3)}."
    note = (
        f"Parts of {asked}, {number(c.total)}, to which they add up: what each wrote into the residual stream, read "
        f"by the unembedding with the scale of the last norm kept. {largest}"
    )
    caption = "Bars to the right pushed the answer up, bars to the left held it down; together they are its logit."
    spoken = f"Bars: {len(parts)} parts of {asked}, {number(c.total)}. {largest}"
    return Picture(chart, title, spoken, note, data, caption=caption)
