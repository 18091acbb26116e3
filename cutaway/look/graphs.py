r"""The compute graph of a real pass: every operator with its values, and after the backward pass every δ.

    g = cut.graph(model, x)             # runs it once and records it
    with cut.record() as g:             # the same for any piece of code
        loss = (w * x + b - y).square()
    g.backward()
    g.values[3].delta, g.edges[2].delta     # ∂ loss / ∂ value, and the share of it that came through one edge

It works on any `nn.Module` and any function of tensors. The pass is the one that would have run without it: same
kernels, same bits. How it is recorded is in graph_recording/capture.py, how δ is found in graph_recording/deltas.py.
Notes: N3 §3.2–3.3.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import UnknownAddress, address_regex, unknown_address
from cutaway.inside.results import LookError, rebuilt, tensors
from cutaway.look.graph_recording.assembly import (
    callers_frame,
    drop_contents,
    finish,
    is_end,
    name_outsiders,
    variables_in,
    variables_of,
)
from cutaway.look.graph_recording.backward_start import choose_delta, choose_output
from cutaway.look.graph_recording.capture import Capture, unrecorded
from cutaway.look.graph_recording.deltas import Deltas
from cutaway.look.graph_recording.elements import Edge, ModuleGroup, Node, Step, Value
from cutaway.look.graph_recording.inner_graphs import open_nodes, pass_on
from cutaway.look.graph_recording.inputs import PreparedInputs, expect_inputs, name_inputs
from cutaway.look.graph_recording.steps import backward_steps, forward_steps, to_json, to_table
from cutaway.look.graph_recording.tensor_likes import contents
from cutaway.overriding import override

KEEP = ("all", "statistics", "shapes")


class Found(NamedTuple):
    """The result of `find`: the operators at an address, and values (their outputs, parameters and inputs)."""

    nodes: list[Node]
    values: list[Value]


class Graph:
    """Operators (``nodes``, as they ran), ``values`` between them, ``edges`` from each value to each of its readers.

    ``inputs`` are what the function was given, ``output`` what it returned, with a `Value` for each tensor; ``outputs``
    are its values in a list. After `record`, ``outputs`` are the values never read or where gradients end, and
    ``output`` is the last of them that has a gradient (else the last): the loss, though it was logged afterwards.
    ``modules`` are those that ran, by path. ``complete`` is False if something ran that could not be seen.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.output: Any = None
        self.outputs: list[Value] = []
        self.modules: dict[str, ModuleGroup] = {}
        self.deltas: Deltas | None = None
        self.complete = True

    @property
    def edges(self) -> list[Edge]:
        return [edge for node in self.nodes for edge in node.inputs]

    @unrecorded()
    def backward(self, output: Any = None, delta: Any = None) -> "Graph":
        """Finds δ for every value and edge, starting at ``output`` (a value, its name or its tensor; else the result).

        ``delta`` is the δ to start with, a tensor of the output's shape or "ones"; an output of one number starts with
        1. No `.grad` is touched, and it can be called again, with another start.
        """
        chosen = choose_output(self, output)
        self.deltas = None  # so that no old δs remain if the pass fails
        self.deltas = Deltas(self, {chosen: choose_delta(chosen, delta)})
        pass_on(self)
        return self

    def steps(self, direction: str = "forward") -> Iterator[Step]:
        """One operator at a time: "forward" in the order in which they ran, "backward" from the output back."""
        if direction == "forward":
            return forward_steps(self)
        if direction != "backward":
            raise ValueError(f"direction must be 'forward' or 'backward', got {direction!r}; choose one of these")
        if self.deltas is None:
            raise LookError("steps backwards need a backward pass, got none yet; call g.backward() first")
        return backward_steps(self)

    def find(self, address: str) -> Found:
        """Operators and values by an address with globs: a module's path ("blocks.*.attention", and all inside it),
        an operator in it ("blocks.0.attention.softmax"), the name of a parameter, input or value ("linear 3").
        """
        match = address_regex(address).fullmatch
        nodes = [node for node in self.nodes if match(node.address) or any(match(path) for path, _ in node.within)]
        made = {id(value): value for node in nodes for value in node.outputs}
        named = {id(v): v for v in self.values if any(match(name) for name in (v.name, *v.other_names))}
        if not (nodes or named):
            known = [*self.modules, *(node.address for node in self.nodes), *(value.name for value in self.values)]
            rule = "name a module, operator or value of the graph"
            raise UnknownAddress(unknown_address(address, filter(None, known), rule))
        return Found(nodes, sorted((made | named).values(), key=lambda value: value.index))

    def __getitem__(self, address: str) -> Value:
        """One value: by its name, by the operator that made it, or by the module that returned it (its last call)."""
        group = self.modules.get(address)
        if group is not None and group.outputs and len(group.outputs[-1]) == 1:
            return group.outputs[-1][0]
        for value in self.values:
            if address in (value.name, *value.other_names):
                return value
        for node in self.nodes:
            if node.address == address and node.outputs:
                return node.outputs[0]
        return self.find(address).values[-1]

    def delta(self, address: str) -> Tensor:
        """δ of one value (see ``g[address]``), or an error that says why it has none."""
        value = self[address]
        if value.delta is None:
            raise LookError(
                f"a δ is there for values that the output depends on by gradients, got none for {value.name!r}: "
                f"{value.why_no_delta}; ask for a value between the parameters and the output"
            )
        return value.delta

    @unrecorded()
    def to_json(self, content: int = 64) -> str:
        """The graph as JSON: tensors of up to ``content`` entries with their numbers, all with their statistics."""
        return to_json(self, content)

    @unrecorded()
    def to_svg(self, **options: Any) -> str:
        """The graph drawn as SVG; see `cutaway.look.graph_drawing.svg`."""
        from cutaway.look.graph_drawing.svg import draw_svg

        return draw_svg(self, **options)

    @unrecorded()
    def to_html(self, **options: Any) -> str:
        """The graph as a page that folds and steps, offline; see `cutaway.look.graph_drawing.graph_page`."""
        from cutaway.look.graph_drawing.graph_page import graph_html

        return graph_html(self, **options)

    def _repr_html_(self) -> str:
        return self.to_svg()

    @override
    @unrecorded()
    def __repr__(self) -> str:
        return to_table(self)

    def _take(self, capture: Capture, outputs: Iterable[Value]) -> None:
        """Takes over what was recorded."""
        finish(capture, outputs)
        self.nodes, self.values, self.modules = capture.nodes, capture.values, capture.modules.groups
        self.inputs = [v for v in self.values if v.kind == "input" and (v.producer is None or v.producer.opaque)]
        self.complete = capture.complete


def graph(
    function: Callable[..., Any],
    *inputs: Any,
    keep: str = "all",
    limit: int | None = None,
    opened: bool | str | Iterable[str] = (),
    deltas: bool = True,
    **keywords: Any,
) -> Graph:
    """Runs a function or model once and records it: ``cut.graph(model, x)``, ``cut.graph(torch.sigmoid, x)``.

    ``keep`` the contents of all values ("all"), their "statistics" or only their "shapes"; ``limit`` leaves out
    contents of more entries. ``opened`` names composites to look into, by operator or address ("**.lstm"; True: all).
    ``deltas=False`` leaves inputs as they are; otherwise floats get a δ: those that do not require a gradient go in as
    copies that do, masks excepted. Other keywords are the function's (wrap it in a lambda if one has a name used here).
    """
    _expect_keep(keep, limit)
    if not callable(function):
        raise ValueError(
            f"a graph is recorded of a model or a function, got {type(function).__name__}; pass one, uncalled"
        )
    function = getattr(function, "_orig_mod", function)  # a compiled model runs eagerly here: as what it wraps
    expect_inputs(function, inputs, keywords)
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
    result = Graph()
    root = owner if isinstance(owner, nn.Module) else None
    capture = Capture(result, root, outside="constant", copies=keep == "all")
    named = name_inputs(function, contents(inputs), contents(keywords))
    ready = PreparedInputs(deltas and torch.is_grad_enabled())
    given = {name: ready.make(name, part) for name, part in named.items()}
    with capture:
        for name, x in ready.tensors:
            value = capture.value_of(x)
            if value.kind != "input" and not isinstance(x, nn.Parameter):
                value.kind, value.given_name = "input", name
            elif value.given_name != name:
                value.other_names = (*value.other_names, name)
        names = iter(given)
        output = function(*(given[next(names)] for _ in inputs), **{key: given[key] for key in keywords})
    if next(tensors(output), None) is None:
        raise ValueError(
            f"a graph needs a function that returns a tensor, got {type(output).__name__}; return the value to look at"
        )
    result.outputs = list(dict.fromkeys(capture.value_of(x) for x in tensors(output)))
    try:
        result.output = rebuilt(output, capture.value_of)
    except (AttributeError, TypeError, ValueError):  # such as PackedSequence, which takes tensors only
        result.output = tuple(result.outputs)
    _finish(result, capture, variables_of(function), opened, keep, limit)
    return result


class record:  # noqa: N801 -- used like a function
    """Records a piece of code: ``with cut.record() as g: loss = ...``; the graph is there when the block ends.

    Tensors from outside are its inputs, by the names of their variables. What gives parameters made inside their start
    values is left out: a parameter begins where it is first used. An error inside goes on to the caller, and the graph
    holds what ran before it. For ``keep``, ``limit`` and ``opened`` see `graph`.
    """

    def __init__(self, keep: str = "all", limit: int | None = None, opened: bool | str | Iterable[str] = ()) -> None:
        _expect_keep(keep, limit)
        self._settings = (opened, keep, limit)
        self.graph = Graph()
        self._capture: Capture | None = None
        self._frame: FrameType | None = None

    def __enter__(self) -> Graph:
        if self._capture is not None:
            raise LookError("a record can be entered once, got a second time; make a new one")
        self._frame = callers_frame()
        self._capture = Capture(self.graph, None, outside="input", copies=self._settings[1] == "all")
        self._capture.__enter__()
        return self.graph

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: Any) -> None:
        capture, frame = self._capture, self._frame
        self._frame = None
        assert capture is not None
        capture.__exit__(kind, error, where)
        variables = {} if frame is None else variables_in(frame)
        with nullcontext() if kind is None else suppress(Exception):  # the error inside is the one to tell
            self._close(capture, variables)

    def _close(self, capture: Capture, variables: dict[str, Any]) -> None:
        _finish(self.graph, capture, variables, *self._settings)
        made = [v for node in self.graph.nodes for v in node.outputs if v.kind != "input"]
        self.graph.outputs = [value for value in made if is_end(value)]
        last = [v for v in self.graph.outputs if v.requires_grad and not v.made_without_graph] or self.graph.outputs
        self.graph.output = last[-1] if last else None


@unrecorded()
def _finish(
    result: Graph, capture: Capture, variables: dict[str, Any], opened: Any, keep: str, limit: int | None
) -> None:
    result._take(capture, result.outputs)
    name_outsiders(result.values, variables, capture.modules.names)
    open_nodes(result, opened)
    drop_contents(capture, keep, limit)
    capture.forget()


def _expect_keep(keep: str, limit: int | None) -> None:
    if not isinstance(keep, str) or keep not in KEEP:
        got = repr(keep) if isinstance(keep, str) else f"a {type(keep).__name__}"
        raise ValueError(
            f"keep must be 'all', 'statistics' or 'shapes', got {got}; choose one of these "
            "(and wrap a function with a keyword of that name in a lambda)"
        )
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be a number of entries, 0 or more, got {limit}; leave it out to keep all")


__all__ = ["Edge", "Found", "Graph", "ModuleGroup", "Node", "Step", "Value", "graph", "record"]
