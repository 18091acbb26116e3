r"""A tally counts what a flow measures at a layer: values are reduced to a few sums at once, and none is stored.

    norm of x = √(mean x²)              the root mean square, whatever the batch and the width

Sums stay on the device until someone reads them, and then come over together. They are taken in float64, where squares
of a vanished δ are still numbers (10⁻³⁰ squared is 0 in float32).
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cutaway.inside.tensor_layouts import dense
from cutaway.look.gradient_flow.layers import Axes, Place


@dataclass(frozen=True)
class Layer:
    """One layer of a flow. Norms of values are root mean squares, those of weights are lengths ‖w‖.

    ``dead_units`` were 0 for every example; ``saturated`` is the share of all values φ(v) with |v| ≥ ``saturated_at``,
    ``saturated_units`` are those where it was so for every example. None: not measured, or (dead, saturated) no
    activation that could be.
    """

    address: str
    kind: str
    mean: float
    std: float
    activation: float  # norm of the values
    delta: float | None  # norm of the gradient of the result by the values
    gradient: float | None  # length of the gradient of the weights
    weight: float | None  # length of the weights
    units: int | None
    dead_units: tuple[int, ...] | None
    saturated: float | None
    saturated_units: tuple[int, ...] | None
    saturated_at: float | None = None

    @property
    def ratio(self) -> float | None:
        """‖gradient‖ / ‖weights‖."""
        if self.gradient is None or not self.weight:
            return None
        return self.gradient / self.weight

    @property
    def dead(self) -> float | None:
        """The share of units that are dead."""
        return None if self.dead_units is None or not self.units else len(self.dead_units) / self.units

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it; what is no finite number is None."""
        values = vars(self) | {"ratio": self.ratio, "dead": self.dead}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


class Times(NamedTuple):
    """Norms by time step, or by call where a layer is called more than once; ``delta`` is None if no gradient came."""

    activation: list[float]
    delta: list[float] | None
    by: str = "time step"


class Ledger:
    """Small tensors on any device, each stored under a number, to be read all at once."""

    def __init__(self) -> None:
        self._tensors: dict[int, Tensor] = {}
        self._values: dict[int, list[float]] = {}
        self._next = itertools.count()  # one step even where the backward passes of two devices write

    def add(self, tensor: Tensor) -> int:
        number = next(self._next)
        self._tensors[number] = tensor
        return number

    def read(self) -> dict[int, list[float]]:
        """The values of all so far, by one copy from each device."""
        by_device: dict[torch.device, list[int]] = {}
        for number in list(self._tensors):
            by_device.setdefault(self._tensors[number].device, []).append(number)
        for device, numbers in by_device.items():
            parts = [self._tensors.pop(number).reshape(-1).to(exact(device)) for number in numbers]
            values = iter(torch.cat(parts).tolist())
            for number, part in zip(numbers, parts):
                self._values[number] = list(itertools.islice(values, part.numel()))
        return self._values


def exact(device: torch.device) -> torch.dtype:
    """The type that sums are taken in: Apple's devices have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def magnitudes(x: Tensor) -> Tensor:
    """The real numbers that norms are computed of: |x| of complex ones, the parts of a nested tensor joined, else x."""
    x = dense(x)
    return x.abs() if x.is_complex() else x


def squares(x: Tensor, axis: int | None = None) -> Tensor:
    """Σ x², over all axes but one."""
    others = None if axis is None else [i for i in range(x.ndim) if i != axis]
    return torch.linalg.vector_norm(x, dim=others, dtype=exact(x.device)).square()


class Call:
    """One call of a layer: which pass it was in, how many values it gave, and their sums in the ledger."""

    def __init__(self, ledger: Ledger, x: Tensor, turn: int, axis: int | None) -> None:
        self.ledger, self.turn, self.axis = ledger, turn, axis
        self.count = x.numel()
        self.total = ledger.add(x.sum(dtype=exact(x.device)))
        self.squares = ledger.add(squares(x, axis))
        self.deltas: list[int] = []

    def take(self, gradient: Tensor) -> None:
        self.deltas.append(self.ledger.add(squares(gradient, self.axis)))


class Tally:
    """All that a flow counts at one layer."""

    def __init__(self, place: Place, ledger: Ledger, bar: float | None = None) -> None:
        self.place, self.ledger = place, ledger
        self.bar = place.bar if bar is None else bar
        self.calls: list[Call] = []
        self.units: int | None = None
        self.weight: list[int] = []
        self.gradients: dict[int, int] = {}  # of each weight, by its place among the weights
        self._alive: Tensor | None = None  # units that were not 0 somewhere
        self._stuck: Tensor | None = None  # units that were saturated everywhere
        self._saturated: list[int] = []
        self._flags: list[int | None] = [None, None]  # dead units, saturated units

    def take(self, values: Tensor, axes: Axes, turn: int, real: bool = True) -> Call:
        """Counts a value as it is now; the call takes the gradient that comes back to it.

        If they are not ``real`` but magnitudes of complex numbers, they do not tell whether an activation is saturated.
        """
        call = Call(self.ledger, values, turn, axes.time)
        self.calls.append(call)
        self.units = values.shape[axes.units] if values.ndim else 1
        others = [i for i in range(values.ndim) if i != axes.units]
        if self.place.rectifies:
            self._alive = _merged(self._alive, _over(torch.any, values != 0, others), torch.logical_or)
        if self.bar is not None and real:
            low = self.place.is_saturated(values, self.bar)
            self._saturated.append(self.ledger.add(low.sum()))
            self._stuck = _merged(self._stuck, _over(torch.all, low, others), torch.logical_and)
        return call

    @property
    def has_gradient(self) -> bool:
        return any(call.deltas for call in self.calls)

    def take_weights(self) -> None:
        self.weight = [self.ledger.add(squares(magnitudes(w.detach()))) for w in self.place.weights]

    def take_gradient(self, index: int, gradient: Tensor) -> None:
        """Of one weight; a later one replaces it, as gradients add up in ``.grad``."""
        values = gradient.coalesce().values() if gradient.is_sparse else gradient
        self.gradients[index] = self.ledger.add(squares(magnitudes(values.detach())))

    def settle(self) -> None:
        """Writes the last counts to the ledger, before `layer` reads them."""
        flags = (None if self._alive is None else ~self._alive, self._stuck)
        self._flags = [None if which is None else self.ledger.add(which) for which in flags]

    def layer(self, read: dict[int, list[float]]) -> Layer:
        dead, stuck = (None if i is None else _which(read[i]) for i in self._flags)
        count = sum(call.count for call in self.calls)
        mean = sum(read[call.total][0] for call in self.calls) / count
        square = sum(sum(read[call.squares]) for call in self.calls) / count
        saturated = sum(read[i][0] for i in self._saturated) / count if self._saturated else None
        return Layer(
            address=self.place.address,
            kind=self.place.kind,
            mean=mean,
            std=_root(square - mean * mean),
            activation=_root(square),
            delta=self._delta(read),
            gradient=_length(read, self.gradients.values()),
            weight=_length(read, self.weight),
            units=self.units,
            dead_units=dead,
            saturated=saturated,
            saturated_units=stuck,
            saturated_at=self.bar if self._saturated else None,
        )

    def _delta(self, read: dict[int, list[float]]) -> float | None:
        if not self.has_gradient:
            return None
        total = sum(sum(read[i]) for call in self.calls for i in call.deltas)
        return _root(total / sum(call.count * len(call.deltas) for call in self.calls))

    @property
    def timed(self) -> bool:
        """Whether its values have time steps: an axis of their own, or a call each."""
        turns = [call.turn for call in self.calls]
        return any(call.axis is not None for call in self.calls) or len(turns) > len(set(turns))

    def times(self, read: dict[int, list[float]]) -> Times:
        """Norms by time step, over all passes."""
        values, deltas = _Steps(), _Steps()
        nth: dict[int, int] = {}
        for call in self.calls:
            at = nth.get(call.turn, 0) if call.axis is None else 0  # a call is a step, or holds all of them
            nth[call.turn] = at + 1
            values.add(at, read[call.squares], call.count)
            for i in call.deltas:
                deltas.add(at, read[i], call.count)
        by = "call" if all(call.axis is None for call in self.calls) else "time step"
        return Times(values.norms(), deltas.norms() if self.has_gradient else None, by)


class _Steps:
    """Sums of squares and counts by time step; passes may differ in length."""

    def __init__(self) -> None:
        self.sums: dict[int, float] = {}
        self.counts: dict[int, float] = {}

    def add(self, first: int, sums: list[float], count: int) -> None:
        for t, value in enumerate(sums, first):
            self.sums[t] = self.sums.get(t, 0.0) + value
            self.counts[t] = self.counts.get(t, 0.0) + count / len(sums)

    def norms(self) -> list[float]:
        return [_root(self.sums[t] / self.counts[t]) for t in sorted(self.sums)]


def _over(reduce: Any, flags: Tensor, axes: list[int]) -> Tensor:
    return reduce(flags, dim=axes) if axes else flags


def _merged(before: Tensor | None, now: Tensor, both: Any) -> Tensor:
    if before is None or before.shape != now.shape:  # of another width than before: no longer the same units
        return now
    return both(before, now)


def _which(flags: list[float]) -> tuple[int, ...]:
    return tuple(i for i, flag in enumerate(flags) if flag)


def _length(read: dict[int, list[float]], which: Iterable[int]) -> float | None:
    found = [read[i][0] for i in which]
    return _root(sum(found)) if found else None


def _root(square: float) -> float:
    """√ of a number that only rounding can make negative; NaN stays NaN."""
    return math.sqrt(max(square, 0.0)) if square == square else math.nan
