r"""The layers that a flow measures, and what it needs to know of each: its weights, its activation, its axes.

A layer is a module that owns weights or applies an activation. Where one of our blocks applies an activation inside,
its tap names the value: `mlp.hidden`. The input of a recurrent layer counts as a layer too, `lstm.input`: its δ is the
gradient that has come back through time.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import Site, find_sites, named_sites
from cutaway.inside.taps import Tap
from cutaway.inside.wrappers import inner_name, kind_of

_RECTIFIERS = {"relu", "relu6", "relusquared", "relu2"}  # 0 for half of all inputs, with no slope there
_INSIDE = ("gates", "hidden")  # taps of our blocks at the value of an activation that further steps follow


class Squasher(NamedTuple):
    """An activation between two limits, symmetric about its value at 0, and from which |v| on its unit is saturated."""

    function: Callable[[Tensor], Tensor]
    middle: float
    bar: float


# N3 §3.6: σ from |v| ≥ 5 (2.7 % of its steepest slope is left), tanh from 3 (1 %); softsign has 1 % at 9.
_LOGISTIC = Squasher(torch.sigmoid, 0.5, 5.0)
_SQUASHERS = {
    "sigmoid": _LOGISTIC,
    "logistic": _LOGISTIC,
    "tanh": Squasher(torch.tanh, 0.0, 3.0),
    "softsign": Squasher(nn.functional.softsign, 0.0, 9.0),
}


class Place(NamedTuple):
    """A layer: where it is, what kind of module, the activation whose values it gives ("": none), its own weights."""

    address: str
    site: Site
    kind: str
    activation: str
    weights: tuple[nn.Parameter, ...]

    @property
    def rectifies(self) -> bool:
        return self.activation in _RECTIFIERS

    @property
    def bar(self) -> float | None:
        """The |v| from which on a unit is saturated, by default; None if the activation has no limits."""
        return _SQUASHERS[self.activation].bar if self.activation in _SQUASHERS else None

    def is_saturated(self, y: Tensor, bar: float) -> Tensor:
        """Where |v| ≥ bar, from y = φ(v) alone: |y − φ(0)| ≥ φ(bar) − φ(0)."""
        function, middle, _ = _SQUASHERS[self.activation]
        edge = function(torch.tensor(bar, dtype=torch.float64)).item() - middle
        kernel = torch.promote_types(y.dtype, torch.float32)  # in which a value of half precision was computed, too
        edge -= 4 * torch.finfo(kernel).eps  # the rounding of φ
        if y.dtype != kernel:
            edge = torch.tensor(edge + middle, dtype=y.dtype).item() - middle
        return (y.to(kernel) - middle).abs() >= edge


def saturation_bars(given: float | Mapping[str, float] | None) -> dict[str, float]:
    """The |v| from which on units of each activation are saturated, where that is not the default."""
    if given is None:
        return {}
    names = ", ".join(_SQUASHERS)
    bars = dict(given) if isinstance(given, Mapping) else dict.fromkeys(_SQUASHERS, given)
    for name, bar in bars.items():
        if name not in _SQUASHERS:
            raise ValueError(f"saturated_at names activations with limits, {names}, got {name!r}; leave it out")
        if not isinstance(bar, (int, float)) or isinstance(bar, bool) or not 0 < bar < math.inf:
            raise ValueError(f"saturated_at must be above 0, the |v| of a saturated unit, got {bar!r}; try 5")
    return {name: float(bar) for name, bar in bars.items()}


class Axes(NamedTuple):
    """Which axis of a value counts the units, and which the time steps, if any."""

    units: int
    time: int | None


def default_places(model: nn.Module) -> list[Place]:
    """Every module that owns weights or is an activation, and the activations inside our blocks."""
    known = named_sites(model)
    found: dict[Site, Place] = {}

    def add(place: Place) -> None:
        found.setdefault(place.site, place)  # a shared module goes by its first name

    for address, module in known.items():
        if isinstance(module, Tap) or "parametrizations" in address.split("."):
            continue
        if isinstance(module, nn.RNNBase):
            add(_input_place(f"{address}.input".lstrip("."), Site(module, is_input=True)))
        inner = _function_of(module)
        if inner and (taps := [name for name in _INSIDE if name in module._modules]):
            tap = Site(module.get_submodule(taps[0]))
            add(Place(f"{address}.{taps[0]}".lstrip("."), tap, inner, _plain(inner), ()))
        if own_weights(module) or _is_activation(module) or _last_function(module):
            add(_place(address, module))
    if not found:
        raise ValueError(
            f"a flow needs layers that own weights or apply an activation, got a {type(model).__name__} without any; "
            "name what to look at with addresses="
        )
    return list(found.values())


def named_places(model: nn.Module, patterns: Iterable[str]) -> dict[str, list[Place]]:
    """The layers that patterns of addresses name; unknown ones raise, with the nearest known."""
    known = named_sites(model)
    # the block that applies the activation whose values a tap names
    owners = {m._modules[tap]: m for m in known.values() for tap in _INSIDE if tap in m._modules}

    def place(address: str, site: Site) -> Place:
        if site.is_input:
            return _input_place(address, site)
        if site.module in owners and (inner := _function_of(owners[site.module])):
            return Place(address, site, inner, _plain(inner), ())
        return _place(address, site.module)

    return {p: [place(address, site) for address, site in find_sites(known, p).items()] for p in patterns}


def _place(address: str, module: nn.Module) -> Place:
    kind = kind_of(module)
    if _is_activation(module):
        return Place(address, Site(module), kind, _plain(kind), own_weights(module))
    inner = _last_function(module)
    return Place(address, Site(module), f"{kind}, {inner}" if inner else kind, _plain(inner), own_weights(module))


def _input_place(address: str, site: Site) -> Place:
    return Place(address, site, f"input of {kind_of(site.module)}", "", ())


def own_weights(module: nn.Module) -> tuple[nn.Parameter, ...]:
    """The parameters of a module itself, with those that a wrapper or a parametrisation keeps for it."""
    if isinstance(module, torch.jit.ScriptModule):  # what is inside has no address: one layer with all its weights
        return tuple(module.parameters())
    own = list(module.parameters(recurse=False))
    if "parametrizations" in module._modules:
        own += module.get_submodule("parametrizations").parameters()
    inner = inner_name(module)
    if inner is not None:
        own += own_weights(module.get_submodule(inner))
    return tuple(own)


def _plain(name: str) -> str:
    """A name of an activation, however it is written: ReLU, relu_squared, ReLUSquaredActivation."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removesuffix("activation")


def _is_activation(module: nn.Module) -> bool:
    home = type(module).__module__
    if home in ("torch.nn.modules.activation", "transformers.activations"):
        return not isinstance(module, nn.MultiheadAttention)
    return _plain(type(module).__name__) in _RECTIFIERS | set(_SQUASHERS)


def _function_of(module: nn.Module) -> str:
    """The name of the function that one of our blocks applies to its sums; "" if it has none, or a module for it."""
    function = getattr(module, "activation", None)
    ours = any(tap in module._modules and isinstance(module._modules[tap], Tap) for tap in ("sums", *_INSIDE))
    return str(getattr(function, "__name__", "")) if ours and not isinstance(function, nn.Module) else ""


def _last_function(module: nn.Module) -> str:
    """The name of the function that gives a module's output, as in y = φ(x W + b)."""
    if isinstance(module, (nn.RNN, nn.RNNCell)):
        return module.nonlinearity
    return "" if any(tap in module._modules for tap in _INSIDE) else _function_of(module)


def axes_of(x: Tensor, site: Site, layouts: dict[tuple[int, ...], int], time: int) -> Axes:
    """The axes of a value. ``time`` is the axis of time where units come last.

    ``layouts`` remembers where units stand in values of a shape, for the modules without weights that follow.
    """
    weight, shape = getattr(site.module, "weight", None), tuple(x.shape)
    if site.is_input or not isinstance(weight, Tensor):
        units = layouts.get(shape, 1 if x.ndim > 3 else x.ndim - 1)  # without a hint, four axes are an image's
    else:
        normed = isinstance(site.module, (nn.modules.batchnorm._NormBase, nn.GroupNorm))
        units = 1 if x.ndim > 2 and (weight.ndim > 2 or normed) else x.ndim - 1  # a kernel has more than two axes
        layouts[shape] = units
    if x.ndim != 3:
        return Axes(units, None)
    if units == 1:
        return Axes(units, 2)
    return Axes(units, 0 if isinstance(site.module, nn.RNNBase) and not site.module.batch_first else time)
