r"""A compute graph as an interactive page: fold and unfold modules, step through the pass and back, look at values.

    g.to_html()                  one file, nothing fetched, opens offline

The rows and lines of every group are computed here (rows.py); the page itself computes their coordinates, for the
groups that are open at the moment (assets/placing.js).
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cutaway.look.graph_drawing.contents import SIDES, cells_a_side, content_of, extent_of
from cutaway.look.graph_drawing.coordinates import METRICS, Box
from cutaway.look.graph_drawing.folding import Group, grouped, opened
from cutaway.look.graph_drawing.graph_colours import graph_style
from cutaway.look.graph_drawing.labels import LETTERS, LINE_HEIGHT, NUMBERS, SMALL, Look, Words
from cutaway.look.graph_drawing.packing import Levels, pack
from cutaway.look.graph_drawing.rows import arrange
from cutaway.look.graph_drawing.shapes import KINDS, outline, title_width
from cutaway.look.graph_drawing.svg import heading
from cutaway.look.style.colours import MAGNITUDE, SIGNED, table
from cutaway.look.style.stylesheet import STYLE
from cutaway.look.style.theme import FONT
from cutaway.look.style.wording import escape, number, whole_characters, writable

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph, Node, Value

SCRIPTS = ("unpacking.js", "placing.js", "svg.js", "panel.js", "page.js")
# nothing leaves the page, and nothing in it is made into code
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def graph_html(
    graph: "Graph",
    open: str | Sequence[str] = (),
    depth: int | None = None,
    *,
    numbers: int = NUMBERS,
    title: str | None = None,
    megabytes: float = 2.0,
) -> str:
    """The page, as one HTML document. ``open`` and ``depth`` say what is open at first, as in `draw_svg`.

    Contents and δs are in it as pictures of up to 64 × 64 cells, coarser where the page would pass ``megabytes``.
    """
    if not megabytes > 0:
        raise ValueError(f"megabytes must be above 0, got {megabytes}; 2 holds the values of GPT-2 small")
    title = heading(graph) if title is None else title
    page = page_data(graph, open, depth, numbers)
    captions = 100 * len(graph.values)  # of pictures: about as many letters each
    rest = len(_document(graph, page, title, _packed(page), "")) + captions
    levels = add_contents(page, graph, megabytes - rest / 1e6)
    return _document(graph, page, title, _packed(page), levels.packed())


def _document(graph: "Graph", page: dict[str, Any], title: str, data: str, levels: str) -> str:
    style, _ = graph_style()
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}{_asset('page.css')}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1><p class='soft'>{escape(_lead(graph, page))}</p></header>\n"
        f"{_bar(page['backward'], len(page['groups']) > 1)}\n"
        '<main><div id="canvas"></div><aside id="panel" aria-live="polite" tabindex="0" aria-label="Details">'
        f"{_help(page)}</aside></main>\n"
        "<noscript><p>This page is drawn by a script in it, which is switched off here.</p></noscript>\n"
        f'<script type="text/plain" id="graph">{data}</script>\n'
        f'<script type="text/plain" id="levels">{levels}</script>\n'
        f'<script type="module">{page_script()}</script>\n</body>\n</html>\n'
    )


def page_data(
    graph: "Graph", open: str | Sequence[str] = (), depth: int | None = None, numbers: int = NUMBERS
) -> dict[str, Any]:
    """The data of the page as plain values for JSON, without the contents of values."""
    groups = grouped(graph)
    words = Words(graph, groups, numbers)
    looks, homes = {}, {}
    for group in groups:
        for slot in group.slots:
            if not slot.startswith(("in:", "out:")):
                looks[slot], homes[slot] = _look(words.of(slot)), group.number
    edges = words.edges
    numbered = {id(edge): i for i, edge in enumerate(edges)}
    backward = graph.deltas is not None
    directions = ("forward", "backward") if backward else ("forward",)
    shown = opened(groups, open, depth)
    return {
        "metrics": METRICS,
        "letters": {"name": LETTERS, "small": SMALL, "line": LINE_HEIGHT},
        "font": FONT,
        "magnitude": table(MAGNITUDE, 255).tolist(),
        "signed": table(SIGNED, 255).tolist(),
        "alt": f"Compute graph of {number(len(graph.nodes))} operators",
        "backward": backward,
        "cells": SIDES[0],  # these two as `add_contents` will find them
        "coarse": False,
        "open": sorted(shown),
        "groups": [_group(group, words) for group in groups],
        "looks": looks,
        "homes": homes,
        "nodes": [_node(node, numbered) for node in graph.nodes],
        "values": [_value(value, numbered, backward) for value in graph.values],
        "edges": [
            {"value": e.value.index, "node": e.consumer.index, "share": words.share_of(i)} for i, e in enumerate(edges)
        ],
        "steps": {
            direction: [
                {
                    "node": step.node.index,
                    "title": step.title,
                    "words": step.words,
                    "formula": step.formula,
                    "reads": [value.index for value in step.reads],
                    "writes": [value.index for value in step.writes],
                    "shares": [numbered[id(edge)] for edge in step.shares],
                }
                for step in graph.steps(direction)
            ]
            for direction in directions
        },
    }


def _look(look: Look) -> dict[str, Any]:
    texts = [[writable(text.words), text.style] for text in look.texts]
    return {"kind": look.kind, "texts": texts, "size": look.measure, "hint": writable(look.hint)}


def _group(group: Group, words: Words) -> dict[str, Any]:
    arranged = arrange(group.slots, group.lines)
    pairs: dict[tuple[str, str], list[int]] = {}
    for i, line in enumerate(group.lines):
        pairs.setdefault((line.start, line.stop), []).append(i)
    merged = {key: same for key, same in pairs.items() if len(same) > 1 and key[1].startswith("group:")}
    title = words.title(group)
    return {
        "number": group.number,
        "path": group.path,
        "kind": group.kind,
        "parent": None if group.parent is None else group.parent.number,
        "inner": [part.number for part in group.inner],
        "nodes": [node.index for node in group.nodes],
        "texts": [[text.words, text.style] for text in title],
        "title": title_width(title),
        "name": round(title[0].width, 1),
        "rows": arranged.rows,
        "paths": arranged.paths,
        "lines": [
            [line.start, line.stop, line.value, list(line.edges), bool(words.share(line))] for line in group.lines
        ],
        "labels": [_look(words.label([line])) for line in group.lines],
        "merged": {
            " ".join(map(str, same)): _look(words.label([group.lines[i] for i in same])) for same in merged.values()
        },
        "words": f"{group.kind}: " + words.holding(group) if group.kind else words.holding(group),
        "holds": [
            [part.name, f"{part.kind}, {words.holding(part)}"] if isinstance(part, Group) else [part.title, "operator"]
            for part in group.parts[:40]
        ]
        + ([["…", f"{len(group.parts) - 40} more"]] if len(group.parts) > 40 else []),
    }


def _node(node: "Node", numbered: dict[int, int]) -> dict[str, Any]:
    inside = getattr(node, "inside", None)
    rule = node.rule
    return {
        "index": node.index,
        "title": writable(node.title),
        "module": writable(node.module),
        "arguments": writable(node.arguments),
        "rule": None if rule is None else {"words": rule.words, "forward": rule.forward, "backward": rule.backward},
        "inputs": [numbered[id(edge)] for edge in node.inputs],
        "outputs": [value.index for value in node.outputs],
        "inside": ""
        if inside is None
        else f"It holds {len(inside.nodes)} operators: g.nodes[{node.index}].inside.to_html()",
    }


def _value(value: "Value", numbered: dict[int, int], backward: bool) -> dict[str, Any]:
    statistics = value.statistics
    described: dict[str, Any] = {
        "index": value.index,
        "name": writable(value.name),
        "kind": value.kind,
        "shape": [side if isinstance(side, int) else str(side) for side in value.shape],
        "dtype": str(value.dtype).removeprefix("torch."),
        "producer": None if value.producer is None else value.producer.index,
        "uses": [numbered[id(edge)] for edge in value.consumers],
        "statistics": None if statistics is None else statistics.rounded(),
        "content": None,
    }
    if (of_delta := value.delta_statistics) is not None:
        described["delta"] = {"statistics": of_delta.rounded(), "content": None}
    elif backward:
        described["why_no_delta"] = value.why_no_delta
    return described


def add_contents(page: dict[str, Any], graph: "Graph", limit: float) -> Levels:
    """Adds the contents of values and δs to the page's data, as fine as ``limit`` megabytes allow."""
    shown = [x for value in graph.values for x in (value.tensor, value.delta) if x is not None]
    page["cells"] = cells = cells_a_side({extent_of(x) for x in shown}, limit)
    levels = Levels()
    for value, known in zip(graph.values, page["values"]):
        if value.tensor is not None:
            known["content"] = content_of(value.tensor, cells, levels, value.statistics)
        if known["content"] is None:
            known["why"] = value.why_no_tensor or ("it is empty" if value.numel() == 0 else "its numbers are complex")
        if value.delta is not None:
            known["delta"]["content"] = content_of(value.delta, cells, levels, value.delta_statistics)
    page["coarse"] = any(max(extent_of(x)[1:]) > cells for x in shown)
    return levels


def _packed(page: dict[str, Any]) -> str:
    data = json.dumps(page, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return pack(whole_characters(data).encode())


@cache
def _asset(name: str) -> str:
    return files("cutaway.look.graph_drawing").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """The JavaScript modules of the page joined into one script, without their import lines."""
    script = "".join(_asset(name) for name in SCRIPTS)
    script = re.sub(r"^import [^;]*;\n", "", script, flags=re.MULTILINE)
    script = re.sub(r"^export ", "", script, flags=re.MULTILINE)
    assert not re.search("</script|<!--", script, re.IGNORECASE), "the script cannot stand inside a page"
    return script


def _lead(graph: "Graph", page: dict[str, Any]) -> str:
    words = f"{number(len(graph.nodes))} operators, {number(len(graph.values))} values. "
    if page["coarse"]:
        cells = page["cells"]
        words += f"Contents are shown as at most {cells} × {cells} cells, the strongest entry in each (megabytes=). "
    if not graph.complete:
        words += "Something ran that could not be seen, so parts may be missing."
    return words


def _bar(backward: bool, modules: bool) -> str:
    disabled = "" if backward else ' disabled title="call g.backward() before writing the page"'
    hidden = "" if modules else " hidden"
    return (
        '<div id="bar" role="toolbar" aria-label="Steps and view">'
        "<fieldset><legend>Direction of steps</legend>"
        '<label><input type="radio" name="direction" value="forward" checked> forward</label>'
        f'<label><input type="radio" name="direction" value="backward"{disabled}> backward</label></fieldset>'
        '<button id="first" aria-label="To the beginning" title="To the beginning (Home)">Start</button>'
        '<button id="back" aria-label="One step back" title="One step back (←)">◀ Back</button>'
        '<button id="next" aria-label="Next step" title="Next step (→)">Next ▶</button>'
        '<output id="count"></output><span class="gap"></span>'
        '<div id="finder"><input id="search" type="search" placeholder="Find by name ( / )" aria-label="Find by name" '
        'autocomplete="off"><ul id="found"></ul></div>'
        f'<button id="fold" title="Fold all modules"{hidden}>Fold all</button>'
        f'<button id="unfold" title="Unfold one level more"{hidden}>Unfold more</button>'
        '<button id="smaller" aria-label="Smaller" title="Smaller (−)">−</button>'
        '<button id="larger" aria-label="Larger" title="Larger (+)">+</button>'
        '<button id="fit" title="Fit into the window (0)">Fit</button></div>'
    )


def _help(page: dict[str, Any]) -> str:
    deltas = (
        "<p>δ is the gradient of the output: the numbers in orange. A value that is used more than once gets the sum "
        "of what comes back. Where a line is dashed, no gradient flows.</p>"
        if page["backward"]
        else "<p>There is no δ in this page: call g.backward() before g.to_html().</p>"
    )
    kinds = {look["kind"] for look in page["looks"].values()}
    key = "".join(
        f'<li><svg class="cutaway-graph" width="30" height="20" aria-hidden="true"><g class="{kind}">'
        f"{outline(kind, Box(2, 3, 26, 14))}</g></svg> {escape(name)}</li>"
        for kind, name in KINDS.items()
        if kind in kinds
    )
    return (
        "<h2>What you see</h2><p>The operators of one real pass, from the inputs at the top to the output. On each "
        f'line stands the value that flows, or its shape.</p><ul class="key">{key}</ul>'
        f"{deltas}<p>Click an operator or a value to look inside it. Click a tinted box to unfold that module, the "
        "name of an open one to fold it again. Drag to move, scroll to pan, Ctrl + scroll to zoom.</p>"
        "<p>→ and ← go through the pass one operator at a time. / finds by name, 0 fits, + and − zoom, Tab and Enter "
        "reach everything.</p>"
    )
