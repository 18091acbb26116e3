r"""Nodes for tensors that no recorded operator made (threads, TorchScript, torch.func), from autograd's own graph.

A tensor that was met in the pass, and that depends by gradients on other values of it, gets a node ``unseen`` between.
Its shares, as those of every opaque node, come from autograd's own graph, cut at the values that we know:

    δ_x = J_(x→y)ᵀ δ_y          along the paths from y back to x that meet no other value of the graph
"""

from collections.abc import Iterable
from contextlib import ExitStack
from graphlib import TopologicalSorter
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from cutaway.look.graph_recording.elements import Edge, Node, Value
from cutaway.look.graph_recording.memory import gradient_edge

Place = tuple[Any, int]  # a node of autograd's graph, and which of its outputs


def add_unseen(nodes: list[Node], values: list[Value], met_in: dict[int, Node]) -> bool:
    """Adds the nodes that ``met_in`` has ready, by the id of the value; whether there were any."""
    candidates = [v for v in values if id(v) in met_in and v.producer is None and _made_by_autograd(v)]
    opaque = [node for node in nodes if node.opaque and node.outputs]
    if not candidates and not opaque:
        return False  # as nearly always
    places: dict[Place, Value] = {}
    for value in values:
        if (edge := gradient_edge(value)) is not None:
            places.setdefault((edge.node, edge.output_nr), value)
    for node in opaque:
        known = {id(edge.value) for edge in node.inputs}
        _read(node, [v for v in _borders(node.outputs, places) if id(v) not in known])
    found = {id(v): (v, _borders([v], places)) for v in candidates}
    found = {key: (v, sources) for key, (v, sources) in found.items() if sources}
    # each before the first node that reads it, and before those that are made of it
    order = {id(node): i for i, node in enumerate(nodes)}
    first = {
        key: min([len(nodes), *(order[id(edge.consumer)] for edge in v.consumers)]) for key, (v, _) in found.items()
    }
    sorter = TopologicalSorter({key: [id(v) for v in sources if id(v) in found] for key, (_, sources) in found.items()})
    sorted_keys = list(sorter.static_order())
    for key in reversed(sorted_keys):
        for source in found[key][1]:
            if id(source) in first:
                first[id(source)] = min(first[id(source)], first[key])
    before: dict[int, list[Node]] = {}
    for key in sorted_keys:
        value, sources = found[key]
        value.producer = node = met_in[key]
        value.kind = "value" if value.kind == "constant" else value.kind
        node.outputs.append(value)
        _read(node, sources)
        before.setdefault(first[key], []).append(node)
    nodes[:] = [one for i, node in enumerate(nodes) for one in (*before.get(i, ()), node)] + before.get(len(nodes), [])
    return bool(found)


def _made_by_autograd(value: Value) -> bool:
    edge = gradient_edge(value)
    return edge is not None and bool(edge.node.next_functions)


def _read(node: Node, values: Iterable[Value]) -> None:
    for value in values:
        edge = Edge(value, node, len(node.inputs))
        node.inputs.append(edge)
        value.consumers.append(edge)


def _borders(made: Iterable[Value], places: dict[Place, Value]) -> list[Value]:
    """The values that autograd's graph meets first, going back from some, in the order in which they came about."""
    edges = [edge for value in made if (edge := gradient_edge(value)) is not None]
    ahead = [step for edge in edges for step in edge.node.next_functions]
    seen: set[Place] = set()
    found: dict[int, Value] = {}
    while ahead:
        place = ahead.pop()
        if place[0] is None or place in seen:
            continue
        seen.add(place)
        if place in places:
            found[id(places[place])] = places[place]
        else:
            ahead += place[0].next_functions
    return sorted(found.values(), key=lambda value: value.index)


def opaque_shares(node: Node, deltas: list[Tensor | None]) -> list[Tensor | None]:
    """J_fᵀ δ_out for every position, along the ways that meet no other input; None where a value stands at several."""
    starts: list[tuple[GradientEdge, Tensor]] = []
    for value, delta in zip(node.outputs, deltas):
        if delta is not None and (edge := gradient_edge(value)) is not None:
            starts.append((edge, delta))
    edges = [gradient_edge(edge.value) for edge in node.inputs]
    places = [None if edge is None else (edge.node, edge.output_nr) for edge in edges]
    asked = {place: edge for place, edge in zip(places, edges) if place is not None and edge is not None}
    if not starts or not asked:
        return [None] * len(edges)
    with ExitStack() as hooks:
        for function, number in asked:
            hooks.enter_context(function.register_prehook(_stop(number)))
        ys: Any = [edge for edge, _ in starts]
        got = torch.autograd.grad(
            ys, list(asked.values()), [d for _, d in starts], retain_graph=True, allow_unused=True
        )
    shares = dict(zip(asked, got))
    return [None if place is None or places.count(place) > 1 else shares[place] for place in places]


def _stop(number: int) -> Any:
    """A hook that ends the backward pass here; autograd has delivered what arrived before it calls the hook."""
    return lambda arrived: tuple(
        torch.zeros_like(part) if i == number and part is not None else part for i, part in enumerate(arrived)
    )


__all__ = ["add_unseen", "opaque_shares"]
