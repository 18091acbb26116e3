r"""The verdict of a flow in words: which norms explode or vanish, where, and which units are dead or saturated.

Norms are compared between layers of one kind and place (`blocks.*.mlp.up`), as those of different ones differ in any
healthy network. A change of a thousandfold or more from one end of the depth to the other is worth a sentence.
Glorot, Bengio 2010; He et al. 2015. Notes: N0 §1.6, N3 §3.6.
"""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from cutaway.look.gradient_flow.tallies import Layer, Times

FACTOR = 1e3  # between two layers, from which on it explodes or vanishes
_UNITS = 8  # units or layers named in a sentence, at most
_LAYERS = 8  # layers whose units have a sentence, at most
_HALF = 0.5  # share of saturated values that is worth a sentence


class Change(NamedTuple):
    """A norm at two layers; ``earlier`` comes first in the pass."""

    earlier: Layer
    later: Layer
    factor: float  # later / earlier
    steps: int  # layers of the kind from one to the other

    @property
    def a_layer(self) -> float:
        """The factor by which the norm changes from each layer to the next, on average."""
        return self.factor ** (1 / self.steps)


def verdicts(layers: Sequence[Layer], times: Mapping[str, Times]) -> list[str]:
    """Sentences about a flow; if nothing is wrong, one that says so."""
    said = [*_broken(layers), *_frozen(layers), *_without(layers)]
    for name, back in (("delta", True), ("activation", False)):
        said += [_worded(change, back) for change in changes(layers, name)]
    said += [sentence for address, steps in times.items() for sentence in _through_time(address, steps)]
    for what, about in (("dead units", _dead), ("saturated units", _saturated)):
        units = [sentence for layer in layers if (sentence := about(layer))]
        said += units[:_LAYERS]
        if len(units) > _LAYERS:
            said.append(f"{len(units) - _LAYERS} more layers have {what}.")
    if said:
        return said
    norms = [layer.delta for layer in layers if layer.delta]
    spread = f"its norm stays between {_short(min(norms))} and {_short(max(norms))}" if norms else "there is none"
    return [f"Nothing explodes or vanishes in δ ({spread} over {len(layers)} layers), no unit is dead or saturated."]


def changes(layers: Sequence[Layer], name: str) -> list[Change]:
    """The steepest fall and the steepest rise of a norm along the pass, between layers of one kind and place."""
    groups = [_group(layers, lambda x: (role(x.address), x.kind)), _group(layers, lambda x: x.kind)]
    several = [[group for group in by if len(group) > 1] for by in groups]
    found: dict[bool, Change] = {}
    for group in several[0] or several[1]:
        norms = [(layer, getattr(layer, name)) for layer in group]
        known = [(layer, norm) for layer, norm in norms if norm is not None and 0 < norm < math.inf]
        for i, (earlier, before) in enumerate(known):
            for j, (later, after) in enumerate(known[i + 1 :], i + 1):
                change = Change(earlier, later, after / before, j - i)
                rises, size = change.factor > 1, abs(math.log(change.factor))
                if size >= math.log(FACTOR) and (rises not in found or size > abs(math.log(found[rises].factor))):
                    found[rises] = change
    return list(found.values())


def role(address: str) -> str:
    """An address with stars for its numbers.

    >>> role("blocks.11.mlp.up")
    'blocks.*.mlp.up'
    """
    return re.sub(r"\d+", "*", address)


def _group(layers: Sequence[Layer], key: Callable[[Layer], Hashable]) -> list[list[Layer]]:
    groups: dict[Hashable, list[Layer]] = {}
    for layer in layers:
        groups.setdefault(key(layer), []).append(layer)
    return list(groups.values())


def _worded(change: Change, back: bool) -> str:
    one, other = change.earlier, change.later
    if back:  # gradients flow from the later to the earlier
        one, other, factor, each = other, one, 1 / change.factor, 1 / change.a_layer
        what, direction = "δ", "back to"
    else:
        factor, each, what, direction = change.factor, change.a_layer, "the activation", "to"
    verb, word = ("grows", "exploding") if factor > 1 else ("shrinks", "vanishing")
    size = _power(max(factor, 1 / factor))
    return f"From {named(one)} {direction} {named(other)} {what} {verb} by {size}, {_short(each)}× a layer: {word}."


def _through_time(address: str, times: Times) -> list[str]:
    """δ at the last step that has one against δ at the first."""
    known = [(t, norm) for t, norm in enumerate(times.delta or []) if 0 < norm < math.inf]
    if len(known) < 2:
        return []
    (first, early), (last, late) = known[0], known[-1]
    factor = early / late
    if max(factor, 1 / factor) < FACTOR:
        return []
    verb, word = ("grows", "exploding") if factor > 1 else ("shrinks", "vanishing")
    size = _power(max(factor, 1 / factor))
    effect = f"{word} through time" if times.by == "time step" else word
    return [f"At {address} δ {verb} by {size} from {times.by} {last} back to {first}: {effect}."]


def _broken(layers: Sequence[Layer]) -> list[str]:
    """The first that is not finite, forwards and backwards."""
    said = []
    forwards = next((x for x in layers if not math.isfinite(x.activation)), None)
    if forwards is not None:
        said.append(f"The values of {named(forwards)} are the first that are not finite.")
    backwards = next((x for x in reversed(layers) if x.delta is not None and not math.isfinite(x.delta)), None)
    if backwards is not None:
        said.append(f"On the way back δ at {named(backwards)} is the first that is not finite.")
    return said


def _frozen(layers: Sequence[Layer]) -> list[str]:
    owners = [x for x in layers if x.weight is not None]
    if owners and all(x.gradient is None for x in owners):
        return [f"No weight of the {len(owners)} layers that own some has a gradient: they are frozen."]
    return []


def _without(layers: Sequence[Layer]) -> list[str]:
    """Layers that no gradient reaches: none came, or it is exactly 0."""
    zero = [x for x in layers if x.delta == 0]
    none = [x for x in layers if x.delta is None]
    said = []
    if zero:
        said.append(f"δ is exactly 0 at {_listed([named(x) for x in zero])}: nothing is learned there.")
    if none:
        said.append(f"No gradient comes back to {_listed([named(x) for x in none])}.")
    return said


def _dead(layer: Layer) -> str:
    return f"{_some(layer, layer.dead_units)} dead: {_numbers(layer.dead_units)}." if layer.dead_units else ""


def _saturated(layer: Layer) -> str:
    bar = "" if layer.saturated_at is None else f" (|v| ≥ {layer.saturated_at:g})"
    if layer.saturated_units:
        some = _some(layer, layer.saturated_units)
        return f"{some} saturated{bar} for every example: {_numbers(layer.saturated_units)}."
    if layer.saturated is not None and layer.saturated >= _HALF:
        return f"{layer.saturated:.0%} of the values of {named(layer)} are saturated{bar}."
    return ""


def _some(layer: Layer, units: Sequence[int]) -> str:
    return f"{len(units)} of {layer.units} units of {named(layer)} {'is' if len(units) == 1 else 'are'}"


def _numbers(units: Sequence[int]) -> str:
    return _listed([str(i) for i in units])


def named(layer: Layer) -> str:
    """A layer by its address, or by its kind if it is the model itself."""
    return layer.address or f"the {layer.kind}"


def _listed(words: list[str]) -> str:
    return ", ".join(words[:_UNITS]) + (f" and {len(words) - _UNITS} more" if len(words) > _UNITS else "")


def _power(factor: float) -> str:
    """A large factor as a power of ten.

    >>> _power(2.4e9), _power(1e15)
    ('2.4·10^9', '10^15')
    """
    exponent = math.floor(math.log10(factor) + 1e-9)
    lead = f"{factor / 10.0**exponent:.2g}"
    return f"10^{exponent}" if lead == "1" else f"{lead}·10^{exponent}"


def _short(value: float) -> str:
    return f"{value:.2g}"
