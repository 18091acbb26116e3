r"""Views of runs with attention: maps of every head, what the heads do, and all layers in one map.

Modules declare where their attention weights are: ``attention_weights`` gives, for a tap below the module, the tokens
of the queries and of the keys. "tokens" are those that the model reads, "written" those that a decoder is given:

    attention_weights = {"weights": ("tokens", "tokens")}          MultiHeadAttention
    attention_weights = {"cross.weights": ("written", "tokens")}   a decoder layer, for the attention inside it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from cutaway.inside.address_globs import named_sites
from cutaway.look import attention_grid, attention_map, head_scores, head_summary, rollout_map
from cutaway.look.charts.arrays import short_names
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_HEADS = 24 * 24  # drawn in one picture, at most
_CLEAR = 0.2  # of its weight, from which a head is said to do something
_SCORES = {
    "previous": "the most weight on the token before",
    "induction": "the most weight on what followed the same token earlier",
}
_CROSS = (
    "Bright cells are tokens of the source that the decoder looks at when it has read the token of the row and writes "
    "the next; near a diagonal where both texts go in one order."
)
_TITLES = {
    ("tokens", "tokens"): "Within the source: attention of every head of the encoder",
    ("written", "written"): "Within what is written: attention of every head of the decoder",
    ("written", "tokens"): "From what is written to the source: cross attention of every head",
}


@dataclass(frozen=True)
class Group:
    """Attention weights of one kind in some or all layers: address → (heads, queries, keys), and their tokens.

    ``kind`` names the tokens of queries and keys, ``layers`` counts the layers that there are, drawn or not.
    """

    kind: tuple[str, str]
    weights: dict[str, Tensor]
    queries: list[str] | None
    keys: list[str] | None
    layers: int
    paired: bool  # whether the model has an encoder and a decoder

    @property
    def is_cross(self) -> bool:
        return self.kind[0] != self.kind[1]

    @property
    def is_alignment(self) -> bool:
        """Whether there is a single map from what is written to the source."""
        return self.is_cross and sum(len(w) for w in self.weights.values()) == 1

    @property
    def side(self) -> str:
        """Encoder or decoder, where there are both."""
        return "" if not self.paired else "encoder" if self.kind[0] == "tokens" else "decoder"

    def left_out(self) -> str:
        """What is not drawn, in words."""
        shown = len(self.weights)
        return "" if shown == self.layers else f" {shown} of {self.layers} layers are shown, spread over the depth."


def declared_attention(model: nn.Module) -> dict[str, tuple[str, str]]:
    """Every address of attention weights that the modules of a model declare, with the kinds of its queries and keys.

    What an outer module says of those inside it counts before what they say of themselves.
    """
    known, found = named_sites(model), {}
    for path, module in model.named_modules():
        declared = getattr(module, "attention_weights", None)
        for tap, kind in declared.items() if isinstance(declared, Mapping) else ():
            address = f"{path}.{tap}" if path else tap
            if address in known and address not in found:
                found[address] = kind
    return {address: found[address] for address in known if address in found}


def has_attention(run: "Run") -> bool:
    """Runs with attention between tokens of a text."""
    return bool(declared_attention(run.model)) and not looks_at_patches(run)


def looks_at_patches(run: "Run") -> bool:
    """Runs with attention between patches of images, which are drawn on the image."""
    return getattr(run.model, "input_kind", "") == "images" and bool(declared_attention(run.model))


def attention_groups(run: "Run", subject: Subject) -> list[Group]:
    """The attention weights of the subject by kind; of very many layers, some that are spread over the depth."""
    if not subject.arguments:
        return []
    by_kind: dict[tuple[str, str], list[str]] = {}
    for address, kind in declared_attention(run.model).items():
        by_kind.setdefault(kind, []).append(address)
    seen = subject.read(run.model, *(address for addresses in by_kind.values() for address in addresses))
    found = []
    for kind, addresses in by_kind.items():
        weights = {a: seen[a][0] for a in addresses if a in seen and seen[a].ndim == 4}
        if weights:
            chosen = _spread(list(weights), _HEADS // max(len(w) for w in weights.values()))
            shown = {a: weights[a] for a in chosen}
            queries, keys = (_names(subject, name, axis, shown) for axis, name in enumerate(kind, start=1))
            found.append(Group(kind, shown, queries, keys, len(weights), bool(subject.written)))
    return found


def _spread(addresses: list[str], most: int) -> list[str]:
    most = max(1, most)
    if len(addresses) <= most:
        return addresses
    return [addresses[i * (len(addresses) - 1) // max(1, most - 1)] for i in range(most)]


def _names(subject: Subject, kind: str, axis: int, weights: dict[str, Tensor]) -> list[str] | None:
    """The tokens along an axis; None where they are not those of the subject, as for the patches of an image."""
    names = list(getattr(subject, kind))
    return names if all(w.shape[axis] == len(names) for w in weights.values()) else None


def attention(run: "Run", subject: Subject) -> list[Picture]:
    """Where every head of every layer looks."""
    found = []
    for group in attention_groups(run, subject):
        if group.is_alignment:
            found.append(_alignment(group, "From what is written to the source: the alignment"))
            continue
        title = _TITLES[group.kind] if group.paired else "Attention of every head"
        queries = next(iter(group.weights.values())).shape[1]
        picture = attention_grid(group.weights, group.keys, title=f"{title}, over {queries} tokens")
        picture.note += group.left_out()
        found.append(picture.captioned(_CROSS) if group.is_cross else picture)
    return found


def _alignment(group: Group, title: str) -> Picture:
    """Where the decoder looks in the source, the mean over the heads of its last layer."""
    last = list(group.weights.values())[-1]
    return attention_map(last.mean(0), group.keys, group.queries, title=title).captioned(_CROSS)


def heads(run: "Run", subject: Subject) -> list[Picture]:
    """Entropy, distance, previous-token and induction scores of every head."""
    found = []
    for group in attention_groups(run, subject):
        if not group.is_cross:
            where = f" in the {group.side}" if group.side else ""
            picture = head_summary(group.weights, group.keys, title=f"What the heads do{where}")
            picture.note = (picture.note + group.left_out()).strip()
            found.append(picture)
    return found


def telling_heads(run: "Run", subject: Subject) -> list[Picture]:
    """The heads that look most at the token before, or after an earlier copy of the token, each in full."""
    found: dict[tuple[str, int], Picture] = {}
    for group in attention_groups(run, subject):
        names = dict(zip(group.weights, _layer_names(list(group.weights))))
        if group.is_cross:
            address = list(group.weights)[-1]
            if not group.is_alignment:  # that one is drawn in full already
                found[address, -1] = _alignment(group, f"Cross attention of layer {names[address]}, mean of its heads")
            continue
        scores = {address: head_scores(w, group.keys) for address, w in group.weights.items()}
        for score, words in _SCORES.items():
            best = max(
                (
                    (float(value), address, head)
                    for address, of_layer in scores.items()
                    if score in of_layer
                    for head, value in enumerate(of_layer[score].values)
                    if value == value
                ),
                default=None,
            )
            if best is not None and best[0] >= _CLEAR and best[1:] not in found:
                value, address, head = best
                where = f"{group.side.capitalize()}, layer" if group.side else "Layer"
                title = f"{where} {names[address]}, head {head}: {words} ({number(value, 2)})"
                found[address, head] = attention_map(group.weights[address][head], group.keys, title=title)
    return list(found.values())


def _layer_names(addresses: list[str]) -> list[str]:
    """Layers by what their addresses differ in; a single one by its number, if it has one."""
    if len(addresses) > 1:
        return short_names(addresses)
    return [next((part for part in addresses[0].split(".") if part.isdigit()), addresses[0])]


def rollout(run: "Run", subject: Subject) -> list[Picture]:
    """Which tokens have gone into each position, through all layers."""
    return [
        rollout_map(group.weights, group.keys)
        for group in attention_groups(run, subject)
        # a decoder's tokens also come from the source; and a chain of layers must have no gaps
        if group.kind == ("tokens", "tokens") and 1 < len(group.weights) == group.layers
    ]
