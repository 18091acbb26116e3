r"""The logit lens shows what a model would predict if it stopped after a layer.

    logits_l = unembed(norm(x_l))           x_l the residual stream as it leaves layer l, x_0 as it enters the first

All layers write to one stream, so the unembedding can read it after any of them. nostalgebraist 2020, "interpreting
GPT: the logit lens". The last row is the model's own prediction, which is checked on every call. Early rows may be off:
no layer but the last was trained to be read so (the tuned lens of Belrose et al. 2023 learns a map for each).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace
from cutaway.look.charts.grids import fits_a_grid, grid_chart
from cutaway.look.charts.heatmaps import Shades, heatmap
from cutaway.look.language.layouts import Layout, Parts
from cutaway.look.language.passes import Decode, Tokens, as_tokens, at_rest, run, tolerance, words_for
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, quoted, visible

_CAPTION = (
    "Read a column downwards: the layer in which the last answer first appears is where the model made up its mind."
)


@dataclass(frozen=True)
class Lens:
    """Predictions by layer and position: the ``top`` tokens with their ``words`` and probabilities, best first.

    ``entropy`` in nats; ``rank`` is that of the token which the whole model puts first, 1 where a layer does so too.
    ``follows`` is the probability of the token that follows in the text, and NaN at the last position.
    """

    layers: list[str]  # "embedding", "0", "1", …
    tokens: list[str]  # of the text, one a position
    words: list[list[list[str]]]  # by layer, position and place
    top: np.ndarray
    probability: np.ndarray
    entropy: np.ndarray
    rank: np.ndarray
    follows: np.ndarray
    states: Tensor  # norm(x_l): (layers, time, width)
    unembed: Callable[[Tensor], Tensor]

    @torch.no_grad()
    def logits(self, layer: int = -1) -> Tensor:
        """The logits (time, vocabulary) read after one of the ``layers``."""
        return self.unembed(self.states[layer])


@torch.no_grad()
def logit_lens(
    model: nn.Module, tokens: Tokens, *, layout: Layout | None = None, decode: Decode | None = None, top: int = 5
) -> Lens:
    """What a language model predicts after every layer, for one text: ``tokens`` (length) or (1, length).

    ``decode`` makes text of a list of tokens, as a tokenizer's method does; by default it is that of the model's own
    tokenizer. ``layout`` is needed for models whose parts are not known by name.
    """
    parts, x = Parts(model, layout), as_tokens("tokens", tokens, model)
    if top < 1:
        raise ValueError(f"top must be 1 or more, got {top}; try top=5")
    first = f"{parts.layers[0]}.input"
    with at_rest(model), trace(model, first, parts.layers, detach=True) as seen:
        output = run(model, x)
    states = torch.stack([parts.norm(next(tensors(seen[address]))[0]) for address in (first, *parts.layers)])
    _expect_the_models_own(parts.unembed(states[-1]), output)
    final = output[0].argmax(-1)
    found = [_read(parts.unembed(state), final, x[0], top) for state in states]
    best, probability, entropy, rank, after = (np.stack([row[i] for row in found]) for i in range(5))
    word = words_for(model, decode)
    return Lens(
        layers=["embedding", *map(str, range(len(parts.layers)))],
        tokens=[word(token) for token in x[0].tolist()],
        words=[[[word(token) for token in place] for place in row] for row in best.tolist()],
        top=best,
        probability=probability,
        entropy=entropy,
        rank=rank,
        follows=after,
        states=states,
        unembed=parts.unembed,
    )


def _read(logits: Tensor, final: Tensor, tokens: Tensor, top: int) -> list[np.ndarray]:
    """The best tokens, their probabilities, the entropy, the rank of ``final`` and the probability of what follows."""
    log_p = logits.double().log_softmax(-1)
    best = log_p.topk(min(top, log_p.shape[-1]), -1)
    rank = 1 + (log_p > log_p.gather(-1, final[:, None])).sum(-1)
    after = torch.full_like(log_p[:, 0], torch.nan)
    after[:-1] = log_p[:-1].gather(-1, tokens[1:, None])[:, 0].exp()
    entropy = torch.special.entr(log_p.exp()).sum(-1)
    return [x.cpu().numpy() for x in (best.indices, best.values.exp(), entropy, rank, after)]


def _expect_the_models_own(read: Tensor, output: Tensor) -> None:
    """The last layer, read through norm and unembedding, must be what the model says itself."""
    given = tuple(output.shape[1:])
    if tuple(read.shape) != given:
        raise ValueError(
            f"the model's output must be logits for every token of its vocabulary, {tuple(read.shape)}, got {given}; "
            "use a model with a language head, or name the parts with layout="
        )
    apart = float((read - output[0]).abs().max())
    if not apart <= tolerance(output):
        raise ValueError(
            f"the last layer, read through norm and unembed, must give the model's own logits, got {apart:.3g} between "
            "them; name the right parts with layout=, or scale the output as the model does"
        )


_VALUES = {
    "probability": ("probability", "the probability of the likeliest token"),
    "entropy": ("entropy (nats)", "how undecided the prediction is"),
    "rank": ("rank (log 10)", "the rank of the token that the whole model puts first, 0 where it is first already"),
    "follows": ("probability", "the probability of the token that follows in the text"),
}


def lens_map(
    lens: Lens, value: str = "probability", *, positions: slice = slice(None), title: str = "Logit lens"
) -> Picture:
    """What the model would predict after each layer. ``positions`` chooses a part of a long text.

    Colours show the "probability" of that token, the "entropy" of the prediction, the "rank" of the token that the
    whole model puts first, or the probability of the token that "follows" in the text.
    """
    if value not in _VALUES:
        raise ValueError(f"a lens shows {', '.join(_VALUES)}, got {value!r}; pick one of these")
    shown = {
        "probability": lens.probability[..., 0],
        "entropy": lens.entropy,
        "rank": np.log10(lens.rank),
        "follows": lens.follows,
    }[value][:, positions]
    if not shown.size:
        raise ValueError(f"positions must hold at least one of the {len(lens.tokens)}, got {positions}; widen it")
    tokens = [f"{visible(token, 9)}" for token in lens.tokens[positions]]
    legend, meaning = _VALUES[value]
    final = quoted(lens.words[-1][positions][-1][0])
    end = f"The last row is the model's own prediction; after the last token it is {final}."
    if not fits_a_grid(shown):
        picture = heatmap(shown, None, None, title=title, value=legend, axes=("layers passed", "position"))
        picture.note = f"Colours: {meaning}. {end} {picture.note} Or choose positions=slice(0, 32)."
        return picture.captioned(_CAPTION)
    most = 1.0 if value in ("probability", "follows") else float(np.nanmax(shown)) or 1.0
    if np.isnan(shown).all():
        raise ValueError("the last token has none that follows, got positions with that one only; choose another value")
    shades = Shades(Shades.of(np.abs(np.nan_to_num(shown))).colours, 0.0, most)
    words = [[best[0] for best in line[positions]] for line in lens.words]
    places = range(lens.top.shape[-1])
    tips = {
        f"{place + 1}.": [
            [f"{visible(best[place], 24)}  {number(float(p[place]), 3)}" for best, p in zip(line, row)]
            for line, row in zip((w[positions] for w in lens.words), lens.probability[:, positions])
        ]
        for place in places
    }
    axes = ("after layer", "token read")
    chart, rows = grid_chart(shown, words, (lens.layers, tokens), axes, shades, legend, tips)
    where = "In each cell" if "word" in rows[0] else "Under the pointer, for want of room,"
    note = f"{where} the likeliest next token if the model stopped there. Colours: {meaning}. {end}"
    alt = f"Logit lens: the likeliest next token at {shown.shape[1]} positions after {shown.shape[0] - 1} layers. {end}"
    return Picture(chart, title, alt, note, rows, caption=_CAPTION)
