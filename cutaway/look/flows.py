r"""Gradient flow: the sizes of the values at each layer in the forward pass, and of the gradients in the backward pass.

    h_ℓ = f_ℓ(h_{ℓ−1})          δ_ℓ = ∂C/∂h_ℓ = J_{ℓ+1}ᵀ δ_{ℓ+1}

Both are products over the layers: where the factors are below 1 they vanish with depth (or time), above 1 they explode.

    with cut.flow(model) as flow:
        cost(model(x), y).backward()
    print(flow)                         # a row for each layer, and what is wrong

Works on any `nn.Module`, trained or not. Values are reduced to a few numbers when they are made and none is kept.
Hochreiter 1991; Glorot, Bengio 2010; He et al. 2015. Notes: N0 §1.6, N3 §3.6–3.8.
"""

import copy
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from cutaway.inside.address_globs import Site, UnknownAddress, named_sites, unknown_address
from cutaway.inside.checkpoints import enclosing_function
from cutaway.inside.hooks import AddressedWatch, watchable
from cutaway.inside.results import LookError, tensors
from cutaway.inside.taps import Part, Tap, Whole
from cutaway.look.gradient_flow.layers import Axes, Place, axes_of, default_places, named_places, saturation_bars
from cutaway.look.gradient_flow.tallies import Call, Layer, Ledger, Tally, Times, magnitudes
from cutaway.look.gradient_flow.verdicts import named, verdicts
from cutaway.look.pages.picture import Picture
from cutaway.overriding import override

_COLUMNS = ("activation", "delta", "gradient", "weight", "ratio", "dead", "saturated")


class Flow:
    """The measurements of a flow. Printed, it shows its layers in the order of the pass, and the verdict.

    Several passes, or several calls of one layer, are taken together: norms are over all of their values, and a unit is
    dead if it was 0 in all of them. The gradient of weights is that of ``.grad`` after the last backward pass inside.
    """

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._tallies: dict[str, Tally] = {}  # in the order of the pass

    @property
    def layers(self) -> list[Layer]:
        """One row for each layer that a pass went through, in the order of the pass."""
        came = [tally for tally in self._tallies.values() if tally.calls]
        for tally in came:
            tally.settle()
        read = self._ledger.read()
        return [tally.layer(read) for tally in came]

    def __getitem__(self, address: str) -> Layer:
        self._expect(address)
        return next(layer for layer in self.layers if layer.address == address)

    @property
    def timed(self) -> list[str]:
        """The layers that `times` can tell about: those with values for each time step, or called more than once."""
        return [address for address, tally in self._tallies.items() if tally.timed]

    def times(self, address: str) -> Times:
        """Norms of the values and of δ at each time step of a layer: along its axis of time, else call by call."""
        self._expect(address)
        if not self._tallies[address].timed:
            raise LookError(
                f"a layer has time steps if its values have the axes (batch, time, width) or it is called more than "
                f"once in a pass, got neither at {address!r}; flow.timed lists those that have"
            )
        return self._tallies[address].times(self._ledger.read())

    @property
    def verdict(self) -> list[str]:
        """What explodes, vanishes, is dead or saturated, and where, in sentences."""
        return verdicts(self.layers, {address: self.times(address) for address in self.timed})

    @property
    def saturation_rule(self) -> str:
        """From which sum v on a unit of each activation counts as saturated; "" if none of them can be."""
        bars = {x.kind.split(", ")[-1]: x.saturated_at for x in self.layers if x.saturated_at is not None}
        rules = [f"|v| ≥ {bar:g} in {kind}" for kind, bar in bars.items()]
        return f"saturated: {', '.join(rules)}" if rules else ""

    def table(self) -> str:
        """The layers as text, a line for each."""
        layers = self.layers
        rows = [["layer", "kind", *_COLUMNS]]
        rows += [[named(x), x.kind, *(_cell(name, getattr(x, name)) for name in _COLUMNS)] for x in layers]
        filled = [i for i in range(len(rows[0])) if i < 4 or any(row[i] for row in rows[1:])]  # δ is always there
        wide = {i: max(len(row[i]) for row in rows) for i in filled}
        lines = ["  ".join(f"{row[i]:<{wide[i]}}" if i < 2 else f"{row[i]:>{wide[i]}}" for i in filled) for row in rows]
        lines += [self.saturation_rule] if self.saturation_rule else []
        return "\n".join(line.rstrip() for line in lines)

    def picture(self) -> Picture:
        """The norms of values and of δ over the depth."""
        from cutaway.look.gradient_flow.over_depth import flow_picture

        return flow_picture(self)

    def time_picture(self, *addresses: str) -> Picture:
        """The norms of values and of δ over time, at these layers (default: all that have time steps)."""
        from cutaway.look.gradient_flow.over_depth import flow_time_picture

        return flow_time_picture(self, *addresses)

    def to_dict(self) -> dict[str, Any]:
        """The measurements as plain values for JSON."""
        times = {address: self.times(address)._asdict() for address in self.timed}
        return {"layers": [layer.to_dict() for layer in self.layers], "times": times, "verdict": self.verdict}

    @override
    def __repr__(self) -> str:
        if not any(tally.calls for tally in self._tallies.values()):
            return "no flow yet: run the model and backward() inside the `with` block"
        return "\n".join([self.table(), "", *self.verdict])

    def _expect(self, address: str) -> None:
        if address not in self._tallies:
            raise UnknownAddress(unknown_address(address, self._tallies, rule="be a layer that the flow saw"))


class flow(AddressedWatch):  # noqa: N801 -- used like a function
    """Measures values and gradients by layer: ``with cut.flow(model) as flow: cost(model(x)).backward()``.

    Layers are the modules that own weights or apply an activation; ``addresses`` are patterns that choose others, as
    for `trace`. ``time`` is the axis of time in values of three axes: 1 for (batch, time, width), 0 for time first.
    A unit with y = φ(v) is saturated from |v| ≥ 5 on if φ is logistic, 3 if it is tanh, 9 if it is softsign;
    ``saturated_at`` is another bar, one for all or ``{"tanh": 2}``.

    To have a δ everywhere, frozen layers are put into the graph, and a block with a tap in ``addresses`` takes its
    written-out equation. With ``as_is`` the pass runs as it would unseen, the same to the bit, and δ is None there.
    """

    def __init__(
        self,
        model: nn.Module,
        addresses: str | Iterable[str] | None = None,
        *,
        time: int = 1,
        as_is: bool = False,
        saturated_at: float | Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise ValueError(f"a model must be a torch.nn.Module, got {type(model).__name__}; pass the module itself")
        if time not in (0, 1):
            raise ValueError(f"time must be 0 or 1, the axis of time steps, got {time}; try time=1")
        patterns = [addresses] if isinstance(addresses, str) else list(addresses or [])
        chosen = named_places(model, patterns) if patterns else {"**": default_places(model)}
        self.places: dict[Site, Place] = {}
        for place in (place for found in chosen.values() for place in found):
            self.places.setdefault(place.site, place)
        sites = {pattern: {place.address: place.site for place in found} for pattern, found in chosen.items()}
        taps = bool(patterns) and any(isinstance(site.module, Tap) for site in self.places)
        super().__init__(sites, edits=taps and not as_is, gradients=not as_is)
        self._whole = Site(named_sites(model).get("", model))
        self.names = {**self.names, self._whole: self.names.get(self._whole, [""])}  # its output ends a pass
        self.watched = {*self.watched, self._whole.module}
        self.time, self._bars = time, saturation_bars(saturated_at)
        self._start()

    def _start(self) -> None:
        self.seen = Flow()
        self._passes = 0
        self._layouts: dict[tuple[int, ...], int] = {}
        self._backwards: set[int] = set()  # backward passes that came through our values
        self._why_none = "call backward() on the loss inside, or choose a loss that depends on the model"

    def anew(self) -> "flow":
        """A new flow at the same layers, which need not be searched for again."""
        other = copy.copy(self)
        other.order, other.is_open, other.reached, other.passed_elsewhere = 0, False, set(), False
        other._start()
        return other

    @override
    def begin(self, undo: ExitStack) -> None:
        self._hooks_on_weights = undo
        for place in self.places.values():
            self.seen._tallies[place.address] = Tally(place, self.seen._ledger, self._bars.get(place.activation))
            if not any(
                isinstance(weight, UninitializedParameter) for weight in place.weights
            ):  # those have no numbers before their first pass
                self._take_weights(place)

    def _take_weights(self, place: Place) -> None:
        tally = self.seen._tallies[place.address]
        tally.take_weights()
        for index, weight in enumerate(place.weights):
            if weight.requires_grad:
                handle = weight.register_post_accumulate_grad_hook(partial(self._take_gradient, tally, index))
                self._hooks_on_weights.callback(handle.remove)

    @override
    def close(self) -> None:
        """Removes the hooks from the model; the measurements stay, in the order of the pass."""
        super().close()
        came = [tally for tally in self.seen._tallies.values() if tally.calls]
        self.reached = {tally.place.site for tally in came}
        self.seen._tallies = {tally.place.address: tally for tally in sorted(came, key=lambda t: t.calls[0].total)}

    @override
    def prepare(self, value: Any) -> Any:
        if any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in tensors(value)):
            raise LookError(
                "a flow measures plain tensors, got one inside a torch.func transform (vmap, grad, jvp); "
                "call the model outside of it"
            )
        value = super().prepare(value)
        return watchable(value) if torch.is_grad_enabled() else value

    @override
    def read(self, site: Site, value: Any) -> None:
        if site in self.places:
            source = value.source if isinstance(value, Whole) else None
            value = value.value if isinstance(value, (Part, Whole)) else value
            x = next((x for x in tensors(value) if (x.is_floating_point() or x.is_complex()) and x.numel()), None)
            if x is not None:
                self._take(self.places[site], x, x if source is None else source)
        if site == self._whole:
            self._passes += 1

    def _take(self, place: Place, x: Tensor, source: Tensor) -> None:
        if not torch.is_grad_enabled():
            inside = enclosing_function()
            self._why_none = (
                f"the pass ran inside {inside}, a torch.autograd.Function: pass use_reentrant=False to the checkpoint"
                if inside
                else "the pass ran under torch.no_grad() or inference_mode(): run the model outside of it"
            )
        tally = self.seen._tallies[place.address]
        if len(tally.weight) < len(place.weights):  # it was lazy
            self._take_weights(place)
        values = magnitudes(x.detach())
        axes = Axes(values.ndim - 1, None) if x.is_nested else axes_of(x, place.site, self._layouts, self.time)
        call = tally.take(values, axes, self._passes, real=not x.is_complex())
        if source.requires_grad and torch.is_grad_enabled():
            source.register_hook(partial(self._come_back, call))  # holds sums, never the graph

    def _come_back(self, call: Call, gradient: Tensor) -> None:
        if self.is_open:
            self._backwards.add(torch._C._current_graph_task_id())
            call.take(magnitudes(gradient.detach()))

    def _take_gradient(self, tally: Tally, index: int, weight: Tensor) -> None:
        # Another thread may train the same weights: only what came back through our values is ours.
        if weight.grad is not None and torch._C._current_graph_task_id() in self._backwards:
            tally.take_gradient(index, weight.grad)

    def __enter__(self) -> Flow:
        self.open()
        return self.seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
        if kind is None:
            self.expect_reached()
            if not any(tally.has_gradient for tally in self.seen._tallies.values()):
                raise LookError(
                    f"a flow needs a backward pass inside the `with` block, got none through any of "
                    f"{len(self.seen._tallies)} layers; {self._why_none}"
                )


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0%}" if name in ("dead", "saturated") else f"{value:.3g}"
