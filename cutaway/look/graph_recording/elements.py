r"""The elements of a compute graph: operators (nodes), the values between them, and edges (a value read by a node).

    value --edge--> node --> value      forwards: contents;  backwards: δ, a share for each edge, a total for each value

Notes: N3 §3.2–3.3.
"""

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from cutaway.look.graph_recording.tensor_likes import TensorLike
from cutaway.overriding import override

if TYPE_CHECKING:
    from cutaway.look.graph_recording.deltas import Deltas
    from cutaway.look.graph_recording.local_rules import Rule
    from cutaway.look.graph_recording.statistics import Statistics


@dataclass(slots=True)
class ModuleGroup:
    """A module that ran: its path, its class, the path of the module that called it (None: the root)."""

    path: str
    kind: str
    parent: str | None
    calls: int = 0
    outputs: list[list["Value"]] = field(default_factory=list)  # what each call returned


class Call(NamedTuple):
    """The call of an operator: all that is needed to run it again."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    random_state: Any = None  # of the generator, just before
    autocast: tuple[str, torch.dtype] | None = None


@dataclass(slots=True, eq=False, repr=False)
class Edge:
    """A value on its way into an operator, at a ``position`` among the tensors that the operator read."""

    value: "Value"
    consumer: "Node"
    position: int

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.value.shape

    @property
    def delta(self) -> Tensor | None:
        """This consumer's share J_fᵀ δ_out of the value's δ; None before backward, and where no gradient flows."""
        deltas = self.consumer.deltas()
        return None if deltas is None else deltas.share(self)

    @property
    def why_no_delta(self) -> str:
        """Why there is no share, in words; empty if there is one."""
        from cutaway.look.graph_recording.deltas import why_no_share

        return why_no_share(self)

    @override
    def __repr__(self) -> str:
        return f"Edge({self.value.name} → {self.consumer.title}, shape {self.shape})"


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One operator of the pass. ``implicit``: no code called it; it stands for what a write to memory did to a view."""

    index: int
    name: str
    module: str = ""
    call: int = 0  # of that module, the first is 1; 0: no module
    inputs: list[Edge] = field(default_factory=list)
    outputs: list["Value"] = field(default_factory=list)
    opened: list["Node"] | None = None  # what it is made of, where that was asked for
    inside: Any = None  # the same as a graph
    address: str = ""  # the module's path and the operator's name, numbered where it comes again
    number: int = 1  # of its name: "linear 3"
    called: Call | None = None  # None: cannot be run again
    implicit: bool = False
    is_function: bool = False  # a torch.autograd.Function
    opaque: bool = False  # its computation was not recorded, only its outputs: autograd alone knows its J
    written: dict[int, int] = field(default_factory=dict)  # positions whose memory it wrote, and which output that is
    within: tuple[tuple[str, int], ...] = ()  # the calls of modules that it ran in, the outermost first
    graph: Any = None

    @property
    def title(self) -> str:
        return f"{self.name} {self.number}"

    @property
    def rule(self) -> "Rule | None":
        """What it computes forwards and backwards, in words and formulas; None for operators we have no words for."""
        from cutaway.look.graph_recording.local_rules import find_rule

        return find_rule(self.name)

    @property
    def arguments(self) -> str:
        """The settings that it was called with, tensors left out: ``"-1"``, ``"dim=-1, keepdim=True"``."""
        if self.called is None:
            return ""
        plain = [_setting(part) for part in self.called.arguments]
        plain += [f"{key}={_setting(part)}" for key, part in self.called.keywords.items() if _setting(part)]
        return ", ".join(part for part in plain if part)

    def deltas(self) -> "Deltas | None":
        return None if self.graph is None else self.graph.deltas

    @override
    def __repr__(self) -> str:
        place = f" in {self.module}" if self.module else ""
        return f"Node({self.title}{place}: {_names(self.inputs)} → {', '.join(v.name for v in self.outputs)})"


def _names(edges: Iterable[Edge]) -> str:
    return ", ".join(edge.value.name for edge in edges)


def _setting(part: Any) -> str:
    if isinstance(part, (bool, int, float, str, torch.dtype, slice)) or part is Ellipsis:
        return "…" if part is Ellipsis else str(part)
    if isinstance(part, (list, tuple)):
        inner = [_setting(one) for one in part]
        return f"({', '.join(inner)})" if inner and all(inner) else ""
    return ""


@dataclass(slots=True, eq=False, repr=False)
class Value(TensorLike):
    """A tensor of the pass, as it was between the operator that made it and those that read it.

    It can be used as its tensor: ``torch.allclose(value, x)``, ``value + 1``, ``value[0]``, ``value.mean()``.
    """

    index: int
    kind: str  # "input", "parameter", "buffer", "constant" or "value"
    shape: tuple[Any, ...]  # numbers; a ragged side of a nested tensor is a symbol or "ragged"
    dtype: torch.dtype
    producer: Node | None = None
    consumers: list[Edge] = field(default_factory=list)
    given_name: str = ""
    other_names: tuple[str, ...] = ()  # of a shared parameter
    number: int = 0  # among several outputs of the producer
    graph: Any = None
    version: int | None = None
    live: Tensor | None = None  # the tensor of the pass itself
    copy: Tensor | None = None  # its content, saved before a change in place
    stale: bool = False  # the memory was written since
    left_out: str = ""  # why there is no content
    edge: Any = None  # where autograd delivers δ, once the tensor itself can no longer tell
    made_without_graph: bool = False  # while gradients were switched off
    needed_gradient: bool | None = None  # as it was when the content was let go
    counted: "Statistics | None" = None

    @property
    def name(self) -> str:
        """The name of the parameter or input, or of what made it: "linear 3"."""
        if self.given_name or self.producer is None:
            return self.given_name or f"{self.kind} {self.index}"
        return self.producer.title + (f"[{self.number}]" if len(self.producer.outputs) > 1 else "")

    @property
    def requires_grad(self) -> bool:
        if self.needed_gradient is not None:
            return self.needed_gradient
        return self.live is not None and self.live.requires_grad

    @property
    def tensor(self) -> Tensor | None:
        """The content; None if it was not kept, `why_no_tensor` says why."""
        if self.copy is not None:
            return self.copy
        return None if self.live is None or self.why_no_tensor else self.live

    @property
    def why_no_tensor(self) -> str:
        """Why there is no content; empty if there is."""
        if self.copy is not None:
            return ""
        if self.left_out:
            return self.left_out
        if self.live is None:
            return "it was not kept"
        if self.live.is_meta:
            return "it is on the meta device, where tensors have a shape only"
        changed = self.stale or (self.version is not None and self.live._version != self.version)
        return "it was changed in place after it was recorded" if changed else ""

    @property
    def statistics(self) -> "Statistics | None":
        """Mean, deviation, extremes, norm, share of zeros, and how many are NaN or infinite; None without content."""
        from cutaway.look.graph_recording.capture import unrecorded
        from cutaway.look.graph_recording.statistics import Statistics

        if self.counted is None and (content := self.tensor) is not None:
            with unrecorded():
                self.counted = Statistics.of(content)
        return self.counted

    @property
    def delta_statistics(self) -> "Statistics | None":
        """The same of δ; None without one."""
        return None if self.graph is None or self.graph.deltas is None else self.graph.deltas.statistics(self)

    @property
    def delta(self) -> Tensor | None:
        """δ, the gradient of the output with respect to this value; None without one, `why_no_delta` says why."""
        return None if self.graph is None or self.graph.deltas is None else self.graph.deltas.total(self)

    @property
    def why_no_delta(self) -> str:
        """Why there is no δ, in words; empty if there is one."""
        from cutaway.look.graph_recording.deltas import why_no_delta

        return why_no_delta(self)

    def numel(self) -> int:
        """How many entries it has; of a ragged one, whose sides do not tell, as many as its content."""
        if all(isinstance(side, int) for side in self.shape):
            return math.prod(self.shape)
        content = self.live if self.copy is None else self.copy
        return sys.maxsize if content is None else int(content.numel())

    @override
    def content(self) -> Tensor:
        """The content, or an error that says why there is none."""
        from cutaway.inside.results import LookError

        found = self.tensor
        if found is None:
            why = self.why_no_tensor
            advice = (
                "read it before that, or change a copy"
                if "changed" in why
                else "record it with keep='all' and a higher limit="
            )
            raise LookError(
                f"a value must have been kept to be read, got {self.name!r} without content: {why}; {advice}"
            )
        return found

    @override
    def __repr__(self) -> str:
        return f"Value({self.name}, {self.kind}, {str(self.dtype).removeprefix('torch.')} {tuple(self.shape)})"


@dataclass(frozen=True, slots=True)
class Step:
    """One step through the graph: an operator, what it reads and writes, and backwards the shares that it passes on."""

    index: int
    node: Node
    title: str
    words: str
    formula: str
    reads: list[Value]
    writes: list[Value]
    shares: list[Edge]


__all__ = ["Call", "Edge", "ModuleGroup", "Node", "Step", "Value"]
