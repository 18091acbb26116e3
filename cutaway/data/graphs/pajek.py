r"""Pajek's networks (.net, .paj): vertices by their numbers from 1, then arcs and edges.

    *Vertices 3          1 "Ann Lee" 0.1 0.2 ellipse      a number and a label; then how to draw it, and attributes
    *Arcs                1 2 2.5                          directed: source, target and, if not 1, weight
    *Edges               2 3                              undirected
    *Arcslist, *Edgeslist 1 2 3                           a vertex and its neighbours
    *Matrix              0 1 0                            a row a vertex

A file with arcs is a directed graph, in which an edge is an arc each way. Attributes by name (age 31) are features, but
for Pajek's own, which are for drawing; so are relations of edges (*Arcs :2 "likes"). Partitions and vectors are left
out, and that is noted. Batagelj and Mrvar 1998.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cutaway.data.graphs.graph_libraries import from_scipy, graph_of_rows
from cutaway.data.graphs.raw_graphs import RawGraph, expect_different_names, number_names

_WORDS = re.compile(r'"([^"]*)"|(\S+)')
_SHAPES = ("ellipse", "box", "diamond", "triangle", "cross", "empty", "man", "woman", "house")
_DRAWN = {"id", "x", "y", "shape", "x_fact", "y_fact", "s_size", "phi", "r", "q", "ic", "bc", "bw", "lc", "la", "lr"}
_DRAWN |= {"lphi", "lp", "fos", "font", "url", "w", "c", "p", "s", "a", "ap", "l", "h1", "h2", "a1", "a2", "k1", "k2"}
_LINES = ("*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")


def is_pajek(text: str) -> bool:
    """Whether a text begins as Pajek's files do."""
    first = next((line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("%")), "")
    return first.lstrip().casefold().startswith(("*vertices", "*network"))


def read_pajek(text: str, name: str) -> RawGraph:
    """The graph of the text of a Pajek file."""
    names: list[str] | None = None
    section, relation, aside = "", "", False  # aside: in a partition or vector
    skipped: list[str] = []
    ends: list[tuple[int, int, bool]] = []  # source, target, directed
    vertex_rows: dict[int, dict[str, str | float]] = {}
    edge_rows: list[dict[str, str | float]] = []
    matrix: list[list[float]] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = [quoted or plain for quoted, plain in _WORDS.findall(line)]
        if not words or line.lstrip().startswith("%"):
            continue
        if line.lstrip().startswith("*"):
            section, relation = words[0].casefold(), " ".join(words[1:])
            if section in ("*network", *_LINES):
                aside = False
            elif section != "*vertices":
                aside = True
                skipped.append(words[0])
            elif not aside:
                if names is not None:
                    raise ValueError(
                        f"one graph was asked for, got a second *Vertices in line {number:,} of {name}; give two files"
                    )
                count = _whole(words[1] if len(words) > 1 else "", number, name)
                names = [str(int(number) + 1) for number in number_names(count, name, len(text) // 2)]
            continue
        if aside:
            continue
        if names is None:
            raise ValueError(f"a Pajek file must begin with *Vertices, got {line.strip()[:40]!r} in {name}; add it")
        if section == "*vertices":
            place = _vertex(words[0], len(names), number, name)
            if place in vertex_rows:
                raise ValueError(
                    f"a vertex must have one line, got {words[0]} again in line {number:,} of {name}; mend it"
                )
            names[place] = words[1].strip() if len(words) > 1 and words[1].strip() else names[place]
            vertex_rows[place] = _named_values(words[2:])
        elif section in ("*arcs", "*edges"):
            if len(words) < 2:
                raise ValueError(
                    f"an edge must have two ends, got {line.strip()!r} in line {number:,} of {name}; mend it"
                )
            i, j = (_vertex(word, len(names), number, name) for word in words[:2])
            ends.append((i, j, section == "*arcs"))
            edge_rows.append({"relation": relation, **_named_values(words[2:])})
            if len(words) > 2 and (given := _number(words[2])) is not None:
                edge_rows[-1]["weight"] = given
        elif section in ("*arcslist", "*edgeslist"):
            i, *others = (_vertex(word, len(names), number, name) for word in words)
            ends += [(i, j, section == "*arcslist") for j in others]
            edge_rows += [{"relation": relation} for _ in others]
        elif section == "*matrix":
            values = [_number(word) for word in words]
            matrix.append([np.nan if value is None else value for value in values])
    if names is None:
        raise ValueError(f"a Pajek file must have *Vertices, got none in {name}; add it")
    names = expect_different_names(names, name)
    notes = [f"left out: {', '.join(dict.fromkeys(skipped))}"] if skipped else []
    if matrix:
        return _of_matrix(matrix, names, name, notes)
    directed = any(one_way for *_, one_way in ends)
    if directed and not all(one_way for *_, one_way in ends):
        notes.append("arcs and edges: a directed graph, in which an edge is an arc each way")
        back = [e for e, (i, j, one_way) in enumerate(ends) if not one_way and i != j]
        edge_rows += [dict(edge_rows[e]) for e in back]
        ends += [(ends[e][1], ends[e][0], True) for e in back]
    if any("weight" in row for row in edge_rows):
        edge_rows = [{"weight": 1.0, **row} for row in edge_rows]
    if len({row["relation"] for row in edge_rows}) < 2:
        edge_rows = [{key: value for key, value in row.items() if key != "relation"} for row in edge_rows]
    told = [vertex_rows.get(place, {}) for place in range(len(names))] if any(vertex_rows.values()) else []
    raw = graph_of_rows(name, names, told, [(i, j) for i, j, _ in ends], edge_rows)
    raw.directed, raw.notes = directed, notes
    return raw


def _named_values(words: Sequence[str]) -> dict[str, str | float]:
    """Attributes by their names, behind numbers and a shape; those that Pajek draws with are left out."""
    start = 0
    while start < len(words) and (_number(words[start]) is not None or words[start].casefold() in _SHAPES):
        start += 1
    found: dict[str, str | float] = {}
    for key, word in zip(words[start::2], words[start + 1 :: 2]):
        value = _number(word)
        if key.casefold() not in _DRAWN:
            found[key] = word if value is None else value
    return found


def _of_matrix(matrix: list[list[float]], names: list[str], name: str, notes: list[str]) -> RawGraph:
    widths = {len(row) for row in matrix}
    if widths != {len(names)} or len(matrix) != len(names):
        raise ValueError(
            f"*Matrix must have {len(names):,} rows of as many numbers, got {len(matrix):,} rows of "
            f"{', '.join(map(str, sorted(widths)[:3]))} in {name}; mend it"
        )
    return replace(from_scipy(np.array(matrix), name), names=names, notes=notes)


def _whole(word: str, line: int, name: str) -> int:
    if not word.isdecimal() or len(word) > 30:
        raise ValueError(f"*Vertices must say how many there are, got {word[:30]!r} in line {line:,} of {name}; add it")
    return int(word)


def _vertex(word: str, count: int, line: int, name: str) -> int:
    if not word.isdecimal() or not 1 <= int(word[:30]) <= count:
        raise ValueError(
            f"every line must name vertices by their numbers, 1 to {count:,}, got {word[:40]!r} in line {line:,} of "
            f"{name}; mend it, or raise the number behind *Vertices"
        )
    return int(word) - 1


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


__all__ = ["is_pajek", "read_pajek"]
