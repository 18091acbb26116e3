r"""Views of runs with attention: maps of every head, what the heads do, and all layers in one map."""

import re
from typing import TYPE_CHECKING

from torch import Tensor

from cutaway.inside.address_globs import named_sites
from cutaway.look import attention_grid, attention_map, head_scores, head_summary, rollout_map
from cutaway.look.charts.arrays import short_names
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number
from cutaway.recipes.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_PLACES = {  # where attention is, and what to call it
    r"blocks\.\d+\.attention": "Attention of every head",
    r"encoder\.\d+\.attention": "Within the source: attention of every head of the encoder",
    r"decoder\.\d+\.attention": "Within what is written: attention of every head of the decoder",
    r"decoder\.\d+\.cross": "From what is written to the source: cross attention of every head",
}
_CLEAR = 0.2  # of its weight, from which a head is said to do something
_TELLING = {
    "previous": "the most weight on the token before",
    "induction": "the most weight on what followed the same token earlier",
}


def has_attention(run: "Run") -> bool:
    """Runs with attention."""
    return any(re.fullmatch(place + r"\.weights", a) for a in named_sites(run.model) for place in _PLACES)


def weights_by_place(run: "Run", subject: Subject) -> dict[str, dict[str, Tensor]]:
    """Attention weights of the subject, (heads, queries, keys), by place and address; one pass."""
    if not subject.arguments:
        return {}
    known = named_sites(run.model)
    places = {place: [a for a in known if re.fullmatch(place + r"\.weights", a)] for place in _PLACES}
    seen = subject.read(run.model, *(address for found in places.values() for address in found))
    return {place: {a: seen[a][0] for a in found} for place, found in places.items() if found}


def _tokens(place: str, subject: Subject) -> tuple[list[str], list[str]]:
    """The tokens of the queries and of the keys."""
    queries = subject.written if place.startswith("decoder") else subject.tokens
    return list(queries), list(subject.tokens if "cross" in place else queries)


def _side(place: str) -> str:
    """Encoder or decoder, where there are both."""
    return "" if place.startswith("blocks") else place[:7]


def attention(run: "Run", subject: Subject) -> list[Picture]:
    """Where every head of every layer looks."""
    found = []
    for place, weights in weights_by_place(run, subject).items():
        queries, keys = _tokens(place, subject)
        found.append(attention_grid(weights, keys, title=f"{_PLACES[place]}, over {len(queries)} tokens"))
    return found


def heads(run: "Run", subject: Subject) -> list[Picture]:
    """Entropy, distance, previous-token and induction scores of every head."""
    found = []
    for place, weights in weights_by_place(run, subject).items():
        if "cross" not in place:
            where = f" in the {_side(place)}" if _side(place) else ""
            found.append(head_summary(weights, _tokens(place, subject)[1], title=f"What the heads do{where}"))
    return found


def telling_heads(run: "Run", subject: Subject) -> list[Picture]:
    """The heads that look most at the token before, or after an earlier copy of the token, each in full."""
    found: dict[tuple[str, int], Picture] = {}
    for place, weights in weights_by_place(run, subject).items():
        queries, keys = _tokens(place, subject)
        if place.startswith("decoder") and "cross" in place:
            (address, last), layer = list(weights.items())[-1], short_names(list(weights))[-1]
            title = f"Cross attention of layer {layer}, mean of its heads"
            found[address, -1] = attention_map(last.mean(0), keys, queries, title=title)
            continue
        scores = {a: head_scores(w, keys) for a, w in weights.items()}
        names = dict(zip(weights, short_names(list(weights))))
        for score, words in _TELLING.items():
            best = max(
                ((float(v), a, h) for a, s in scores.items() for h, v in enumerate(s[score].values) if v == v),
                default=None,
            )
            if best is not None and best[0] >= _CLEAR and best[1:] not in found:
                value, address, head = best
                where = _side(place).capitalize() + ", layer" if _side(place) else "Layer"
                layer = names[address] if len(names) > 1 else re.findall(r"\d+", address)[0]
                title = f"{where} {layer}, head {head}: {words} ({number(value, 2)})"
                found[address, head] = attention_map(weights[address][head], keys, title=title)
    return list(found.values())


def rollout(run: "Run", subject: Subject) -> list[Picture]:
    """Which tokens have gone into each position, through all layers."""
    found = []
    for place, weights in weights_by_place(run, subject).items():
        if len(weights) > 1 and not place.startswith("decoder"):
            found.append(rollout_map(weights, _tokens(place, subject)[1]))
    return found
