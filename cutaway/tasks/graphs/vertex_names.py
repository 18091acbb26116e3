r"""Vertices by their names: those that a person asks for, and the one that a page looks at."""

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int

from cutaway.data.files import refuse_special
from cutaway.data.tables.csv_files import find_separator, split_fields
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.vertices import VertexTask

ALL = "all"
_SOURCES = ("source", "src", "from", "u", "a", "node1", "sender", "start")
_COLUMNS = ("id", "vertex", "name", "node", "vertex_id", "node_id")


def read_names(source: str, encoding: str = "utf-8") -> Any:
    """What `cutaway predict` was given: a file of names, one a line (or a CSV with a column id), else names."""
    if not os.path.isfile(source):
        refuse_special(Path(source), "a file of vertices")
        return source
    lines = Path(source).read_text(encoding=encoding, errors="replace").lstrip("\ufeff")
    rows = split_fields(lines, _separator(lines))
    if not rows:
        raise ValueError(f"a file of vertices must name one, got {source}, which is empty; write a name a line")
    header = [field.strip().lower() for field in rows[0]]
    column = next((header.index(name) for name in _COLUMNS if name in header), None)
    return [row[column or 0].strip() for row in rows[column is not None :] if len(row) > (column or 0)]


def _separator(text: str) -> str:
    """What stands between the names of a line: a space does not, as it may be inside a name."""
    found = find_separator(text)
    return "," if found == " " else found


def find_vertices(asked: Any, names: Sequence[str]) -> Int[np.ndarray, "n"]:
    """The numbers of vertices by their names: one, several (also with commas between them), or "all" of them."""
    place = {name: i for i, name in enumerate(names)}
    if isinstance(asked, str) and asked.strip() not in place:
        if asked.strip() == ALL:
            return np.arange(len(names))
        parts = [part.strip() for part in asked.split(",")]
        asked = parts if len(parts) > 1 and all(part in place for part in parts) else [asked.strip()]
    listed: Iterable[Any] = [asked] if isinstance(asked, (str, int, np.integer)) else asked
    wanted = [str(name).strip() for name in listed]
    unknown = [name for name in wanted if name not in place]
    if unknown:
        near = difflib.get_close_matches(unknown[0], list(names)[:100_000], n=1, cutoff=0.6)
        way = f"did you mean {near[0]!r}?" if near else f"there are {len(names):,}, as {', '.join(list(names)[:3])}"
        raise ValueError(f"a vertex must be one of the graph, got {unknown[0]!r}, which is none; {way}")
    if not wanted:
        raise ValueError("at least one vertex must be named, got none; give its name, or all")
    return np.array([place[name] for name in wanted], np.int64)


def read_pairs(source: str, encoding: str = "utf-8") -> Any:
    """What `cutaway predict` was given: a file with two names a line (a header or none), else the name of a vertex."""
    if not os.path.isfile(source):
        return source
    text = Path(source).read_text(encoding=encoding, errors="replace").lstrip("\ufeff")
    rows = [[field.strip() for field in row] for row in split_fields(text, _separator(text))]
    if not rows or any(len(row) < 2 for row in rows):
        raise ValueError(f"a file of pairs must have two names a line, got {source} with fewer; write source,target")
    if rows[0][0].lower() in _SOURCES:
        rows = rows[1:]
    return [(row[0], row[1]) for row in rows]


def find_pairs(asked: Any, names: Sequence[str]) -> Int[np.ndarray, "2 n"]:
    """The numbers of the vertices of pairs of names: (a, b), or several."""
    listed = [asked] if isinstance(asked, tuple) and len(asked) == 2 and isinstance(asked[0], str) else list(asked)
    if not listed or any(len(pair) != 2 for pair in listed):
        raise ValueError(f"pairs must be two names each, got {listed[:3]!r}; give [(source, target), …]")
    ends = [find_vertices([pair[i] for pair in listed], names) for i in (0, 1)]
    return np.stack(ends)


def vertex_subject(run: "Run", task: "VertexTask", data: "GraphData", given: str | None) -> Subject:
    """The graph and a vertex of it: the one that is named, else a held-out one on which the model errs, or any."""
    device = next(run.model.parameters()).device
    graph = task.graph.to(device)
    if given is not None:
        asked = int(find_vertices(given, data.names)[0])
        return Subject((graph,), f"the graph, and its vertex {data.names[asked]}", vertices=(asked,))
    rows = data.train if data.validation is None else data.validation
    chosen = typical_mistake(task, run.model, rows)
    words = f"the graph, and a vertex that it was not trained on, {data.names[chosen]}"
    return Subject((graph,), words, vertices=(chosen,))


def typical_mistake(task: "VertexTask", model: Any, rows: Int[np.ndarray, "n"]) -> int:
    """Of some vertices one on which the model errs and that has a few neighbours; if there is none, any such.

    Of values it errs on the tenth whose answers are farthest off.
    """
    degrees = torch.bincount(task.graph.arcs[1], minlength=task.graph.vertices)
    few = (degrees[rows] >= 2) & (degrees[rows] <= 12)
    outputs = task.outputs(model, rows)
    if task.scale is None:
        wrong = outputs.argmax(1) != task.targets[rows]
    else:
        error = (outputs[:, 0] - task.targets[rows]).abs()
        wrong = error >= error.quantile(0.9)
    for wanted in (few & wrong, few, degrees[rows] >= 1):
        if wanted.any():
            return int(rows[int(wanted.nonzero()[0])])
    return int(rows[0])


__all__ = ["ALL", "find_pairs", "find_vertices", "read_names", "read_pairs", "typical_mistake", "vertex_subject"]
