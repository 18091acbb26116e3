r"""Graphs as JSON: nodes and links, as networkx's node_link_data, D3 and Cytoscape write them, or a list of edges.

    {"nodes": [{"id": "ann", "age": 31}, …], "links": [{"source": "ann", "target": "bob", "weight": 2}, …]}

Links may be called edges. A node is named by its id, key or name, else by its place. Attributes are features.
"""

import json
from collections.abc import Sequence
from typing import Any

from cutaway.atomic_files import parse_json
from cutaway.data.graphs.edge_lists import SOURCES, TARGETS, edges_of_array, edges_of_frame
from cutaway.data.graphs.graph_libraries import from_networkx, graph_of_rows
from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.extras import need

_IDS = ("id", "key", "name")
_DEEPEST = 20  # lists inside lists as a name


def read_node_link(
    text: str, name: str, weight: str | None = None, columns: Sequence[str] = (), lines: bool = False
) -> RawGraph:
    """The graph of a JSON text; with ``lines``, of one that has a value a line, an edge each."""
    try:
        found = [parse_json(line) for line in text.split("\n") if line.strip()] if lines else parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"a graph as JSON must be JSON, got {name}, which is not ({error.msg.lower()} in line {error.lineno}); "
            "save it again"
        ) from None
    if isinstance(found, dict) and isinstance(found.get("elements"), dict):  # Cytoscape
        found = {**found, **{key: [_data(row) for row in rows] for key, rows in found["elements"].items()}}
    if isinstance(found, dict) and isinstance(found.get("nodes"), list):
        return _with_nodes(found, name, weight)
    if isinstance(found, dict) and "nodes" not in found and len({"links", "edges"} & set(found)) == 1:
        found = found.get("links", found.get("edges"))
    if isinstance(found, list) and found:
        if all(isinstance(row, dict) for row in found):
            frame = need("pandas", "tables", "a list of edges").DataFrame(found)
            return edges_of_frame(frame, name, None, weight, columns)
        if all(isinstance(row, list) and len(row) in (2, 3) for row in found):
            return edges_of_array([tuple(row) for row in found], name)
    shown = (
        "nothing" if not found else ", ".join(list(found)[:5]) if isinstance(found, dict) else json.dumps(found)[:40]
    )
    raise ValueError(
        "JSON of a graph must have nodes and links, as networkx.node_link_data gives it, or be a list of edges "
        f"[source, target], got {shown} in {name}; write it so"
    )


def _data(row: Any) -> Any:
    return row["data"] if isinstance(row, dict) and isinstance(row.get("data"), dict) else row


def _with_nodes(found: dict[str, Any], name: str, weight: str | None) -> RawGraph:
    if isinstance(found.get("links"), list) and isinstance(found.get("edges"), list):
        raise ValueError(f"JSON of a graph must have one list of links, got links and edges in {name}; leave one out")
    nodes, links = found["nodes"], found.get("links") if "links" in found else found.get("edges")
    if links is None and isinstance(found.get("adjacency"), list):
        return _of_adjacency(found, name, weight)
    if not isinstance(links, list):
        raise ValueError(f"JSON of a graph must have a list of links beside its nodes, got none in {name}; add it")
    names, vertex_rows = [], []
    for place, node in enumerate(nodes):
        row = node if isinstance(node, dict) else {"id": node}
        key = next((key for key in _IDS if row.get(key) is not None), "")
        names.append(_text(row[key], name) if key else str(place))
        vertex_rows.append({k: v for k, v in row.items() if k != key})
    number: dict[str, int] = {}
    for place, text in enumerate(names):
        if text in number:
            raise ValueError(
                f"every node must have an id of its own, got {text!r} as nodes {number[text] + 1:,} and {place + 1:,} "
                f"of {name}; leave one out"
            )
        number[text] = place
    ends = [_link_ends(row, i, name) for i, row in enumerate(links)]
    told = []
    texts = [[_text(end, name) for end in pair] for pair in ends]
    by_place = bool(texts) and not any(text in number for pair in texts for text in pair)
    if by_place and all(text.isdecimal() and int(text) < len(names) for pair in texts for text in pair):
        number = {str(place): place for place in range(len(names))}
        told.append("links name their ends by the places of nodes, from 0")
    for i, pair in enumerate(texts):
        for side, text in zip(("source", "target"), pair, strict=True):
            if text not in number:
                raise ValueError(
                    f"every link must end at a node, got {text!r} as {side} of link {i + 1:,} in {name}; add the node, "
                    "or mend the link"
                )
    left_out = {*SOURCES, *TARGETS, "key", "id"}
    edge_rows: list[dict[str, Any]] = []
    for row in links:
        if isinstance(row, dict):
            edge_rows.append({k: v for k, v in row.items() if k not in left_out})
        else:
            edge_rows.append({"weight": row[2]} if len(row) == 3 else {})
    raw = graph_of_rows(name, names, vertex_rows, [(number[a], number[b]) for a, b in texts], edge_rows, weight)
    raw.directed = bool(found["directed"]) if "directed" in found else None
    raw.notes += told
    return raw


def _link_ends(row: Any, place: int, name: str) -> tuple[Any, Any]:
    if isinstance(row, list) and len(row) in (2, 3):
        return row[0], row[1]
    if isinstance(row, dict):
        ends = [next((row[key] for key in keys if row.get(key) is not None), None) for keys in (SOURCES, TARGETS)]
        if None not in ends:
            return ends[0], ends[1]
    shown = json.dumps(row)[:60]
    raise ValueError(
        f"every link must have a source and a target, got {shown} as link {place + 1:,} in {name}; add what is lacking"
    )


def _text(value: Any, name: str, depth: int = 0) -> str:
    """A name as text: 2.0 is 2; lists are tuples, as networkx makes them."""
    if isinstance(value, dict) and set(value) >= {"id"}:  # D3 replaces ends by their nodes
        value = value["id"]
    if isinstance(value, list) and depth < _DEEPEST:
        parts = [_text(part, name, depth + 1) for part in value]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if not isinstance(value, (str, int, float)):
        raise ValueError(
            f"the name of a node must be text or a number, got {json.dumps(value)[:40]} in {name}; rename it"
        )
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _of_adjacency(found: dict[str, Any], name: str, weight: str | None) -> RawGraph:
    """The graph of networkx's adjacency_data."""
    nx = need("networkx", "graphs", "reading JSON")
    try:
        graph = nx.adjacency_graph(found)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, nx.NetworkXError) as error:
        raise ValueError(
            f"adjacency must list the neighbours of every node, as networkx.adjacency_data gives them, got others in "
            f"{name} ({' '.join(str(error).split())[:60]}); write it again"
        ) from error
    return from_networkx(graph, weight, name)


__all__ = ["read_node_link"]
