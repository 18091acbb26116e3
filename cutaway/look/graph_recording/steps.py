r"""Turns a graph into a sequence of steps, into JSON, and into a short table."""

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.look.graph_recording.elements import Node, Step, Value
from cutaway.look.graph_recording.statistics import Statistics

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph


def forward_steps(graph: "Graph") -> Iterator[Step]:
    for i, node in enumerate(graph.nodes):
        rule = node.rule
        words = rule.words if rule else f"{node.name} computes {_listed(node.outputs)}."
        reads = _once(edge.value for edge in node.inputs)
        yield Step(i, node, _title(node), words, rule.forward if rule else "", reads, list(node.outputs), [])


def backward_steps(graph: "Graph") -> Iterator[Step]:
    i = -1
    for node in reversed(graph.nodes):
        shares = [edge for edge in node.inputs if edge.delta is not None]
        if not shares:
            continue
        i += 1
        rule = node.rule
        words = rule.words if rule else f"{node.name} hands δ on to {_listed(_once(e.value for e in shares))}."
        reads = [value for value in node.outputs if value.delta is not None]
        formula = rule.backward if rule else "δ_x = J_fᵀ δ_y"
        yield Step(i, node, f"{_title(node)}, backwards", words, formula, reads, _once(e.value for e in shares), shares)


def _title(node: Node) -> str:
    return f"{node.title} in {node.module}" if node.module else node.title


def _once(values: Iterator[Value]) -> list[Value]:
    return list(dict.fromkeys(values))


def _listed(values: list[Value]) -> str:
    return ", ".join(value.name for value in values)


# ---------------------------------------------------------------------------------------------------------------------


def to_json(graph: "Graph", content: int) -> str:
    """Everything about a graph; tensors of up to ``content`` entries with their numbers, others by their statistics."""
    after = graph.deltas is not None

    def value_of(value: Value) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "index": value.index,
            "name": value.name,
            "kind": value.kind,
            "shape": list(value.shape),
            "dtype": str(value.dtype).removeprefix("torch."),
            "producer": None if value.producer is None else value.producer.index,
            "statistics": None if value.statistics is None else value.statistics.rounded(),
            "content": _numbers(value.tensor, content),
        }
        if value.tensor is None:
            entry["why_no_content"] = value.why_no_tensor
        if after:
            entry |= _delta(value.delta, content, value.delta_statistics)
            if value.delta is None:
                entry["why_no_delta"] = value.why_no_delta
        return entry

    def edge_of(index: int, edge: Any) -> dict[str, Any]:
        entry = {"index": index, "value": edge.value.index, "node": edge.consumer.index, "position": edge.position}
        return entry | (_delta(edge.delta, content) if after and content else {})

    nodes = [
        {
            "index": node.index,
            "name": node.name,
            "title": node.title,
            "address": node.address,
            "module": node.module,
            "call": node.call,
            "arguments": node.arguments,
            "inputs": [edge.value.index for edge in node.inputs],
            "outputs": [value.index for value in node.outputs],
            "rule": None if node.rule is None else node.rule._asdict(),
        }
        for node in graph.nodes
    ]
    modules = [
        {"path": group.path, "kind": group.kind, "parent": group.parent, "calls": group.calls}
        for group in graph.modules.values()
    ]
    whole = {
        "format": "cutaway graph 1",
        "complete": graph.complete,
        "nodes": nodes,
        "values": [value_of(value) for value in graph.values],
        "edges": [edge_of(i, edge) for i, edge in enumerate(graph.edges)],
        "modules": modules,
        "inputs": [value.index for value in graph.inputs],
        "outputs": [value.index for value in graph.outputs],
    }
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, default=str)  # ragged sizes have a name: j1


def _numbers(x: Tensor | None, limit: int) -> Any:
    """All digits; null for what is no number; pairs of real and imaginary part for complex numbers."""
    if x is None or x.numel() > limit:
        return None
    x = x.detach().cpu()
    if x.is_nested:
        return [_numbers(part, limit) for part in x.unbind()]
    if x.layout is not torch.strided:
        return _numbers(x.to_dense(), limit)
    return _plain((torch.view_as_real(x.resolve_conj()) if x.is_complex() else x).tolist())


def _plain(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_plain(part) for part in numbers]
    return None if isinstance(numbers, float) and not math.isfinite(numbers) else numbers


def _delta(x: Tensor | None, limit: int, known: Statistics | None = None) -> dict[str, Any]:
    known = Statistics.of(x) if known is None and x is not None else known
    return {"delta": _numbers(x, limit), "delta_statistics": None if known is None else known.rounded()}


def to_table(graph: "Graph", rows: int = 24) -> str:
    """Operators line by line, and how many values of which kind there are."""
    after = graph.deltas is not None
    lines = []
    shown = graph.nodes if len(graph.nodes) <= rows else [*graph.nodes[: rows - 4], *graph.nodes[-3:]]
    for node in shown:
        made = ", ".join(str(tuple(value.shape)).replace("'", "") for value in node.outputs)
        read = ", ".join(edge.value.name for edge in node.inputs)
        norm = ""
        if after and (delta := next((v.delta for v in node.outputs if v.delta is not None), None)) is not None:
            length = Statistics.of(delta).norm
            norm = f"|δ| {length:.3g}" if length is not None else "no finite δ" if delta.numel() else "empty"
        lines.append([node.title, node.module, read if len(read) <= 48 else read[:47] + "…", made, norm])
    heads = ["operator", "module", "reads", "shape", "δ" if after else ""]
    wide = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    text = ["  ".join(part.ljust(w) for part, w in zip(line, wide)).rstrip() for line in [heads, *lines]]
    if len(shown) < len(graph.nodes):
        text.insert(rows - 3, f"… {len(graph.nodes) - len(shown)} more …")
    kinds = {kind: sum(v.kind == kind for v in graph.values) for kind in ("input", "parameter", "buffer", "constant")}
    counts = ", ".join(f"{n} {kind}{'s' if n != 1 else ''}" for kind, n in kinds.items() if n)
    summary = f"{len(graph.nodes)} operators, {len(graph.edges)} edges" + (f"; {counts}" if counts else "")
    return "\n".join([*text, summary])


__all__ = ["backward_steps", "forward_steps", "to_json", "to_table"]
