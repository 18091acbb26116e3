r"""The graphs inside opened operators: recorded beside the pass, differentiated from the δ that the operator got."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from cutaway.inside.address_globs import address_regex
from cutaway.look.graph_recording.capture import Capture
from cutaway.look.graph_recording.composites import written_out
from cutaway.look.graph_recording.deltas import Deltas, run_again, why_not_again
from cutaway.look.graph_recording.elements import Node
from cutaway.look.graph_recording.memory import gradient_edge

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph


def open_nodes(graph: "Graph", opened: bool | str | Iterable[str]) -> None:
    """Looks into the operators that ``opened`` names, by their name or address; True: into all that can be."""
    if opened is False:
        return
    patterns = ["**"] if opened is True else [opened] if isinstance(opened, str) else list(opened)
    for pattern in patterns:
        match = address_regex(pattern).fullmatch
        asked = [node for node in graph.nodes if match(node.name) or match(node.address)]
        done = [node for node in asked if node.opened is not None or _open(node)]
        if not done and opened is not True:
            can = sorted({node.name for node in graph.nodes if written_out(node) is not None})
            raise ValueError(
                f"opened must name operators that are made of others, got {pattern!r}; here these are: "
                f"{', '.join(can) or 'none'}"
            )


def _open(node: Node) -> bool:
    from cutaway.look.graphs import Graph

    function = written_out(node)
    if function is None or why_not_again(node):
        return False
    inside = Graph()
    capture = Capture(inside, None, outside="constant", copies=True)
    wanted = [edge.value.requires_grad for edge in node.inputs]
    try:
        leaves, results = run_again(node, wanted, function, around=capture)
    except (TypeError, ValueError, RuntimeError):  # called in a way that the written-out form does not know
        return False
    same = len(results) >= len(node.outputs) and all(
        value.shape == y.shape and _close(value.content(), y) for value, y in zip(node.outputs, results)
    )
    if not same:  # such as dropout, drawn otherwise inside a fused kernel
        return False
    for leaf, edge in zip(leaves, node.inputs):
        value = capture.value_of(leaf)
        value.kind, value.given_name = edge.value.kind if edge.value.kind != "value" else "input", edge.value.name
    inside.outputs = [capture.value_of(y) for y in results[: len(node.outputs)]]
    inside.output = inside.outputs[0] if len(inside.outputs) == 1 else tuple(inside.outputs)
    inside._take(capture, inside.outputs)
    inside.inputs = [capture.value_of(leaf) for leaf in leaves]  # in the order in which the operator read them
    if len(inside.nodes) < 2:  # another name for a single kernel: nothing to open
        return False
    node.inside, node.opened = inside, inside.nodes
    return True


def _close(one: Any, other: Any) -> bool:
    tolerance = 1e-8 if one.dtype == torch.float64 else 1e-3
    return torch.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def pass_on(graph: "Graph") -> None:
    """Hands the δ of opened operators to the graphs inside them."""
    for node in graph.nodes:
        if node.inside is not None:
            pairs = zip(node.inside.outputs, node.outputs)
            starts = {y: v.delta for y, v in pairs if v.delta is not None and gradient_edge(y) is not None}
            node.inside.deltas = Deltas(node.inside, starts) if starts else None


__all__ = ["open_nodes", "pass_on"]
