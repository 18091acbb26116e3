r"""Trees over classes, drawn from the root at the left to the classes at the right, with the path to one of them.

    p(class) = Π p(branch) along the path         as in a hierarchical softmax

A small tree is drawn whole. Of a large one, the path and what lies beside it are drawn: what branches off is one line
that says how many classes it holds, and the last few classes around the end of the path are all there.

Morin and Bengio 2005. Notes: N3 §4.4.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, short, visible

_WHOLE = 32  # classes up to which all of a tree is drawn
_CLOSE = 8  # classes around the end of the path that are drawn
_ENDS = 24  # lines of a tree without a path
_BESIDE = 3  # branches on either side of the path's, of a vertex that has many
_ROW, _COLUMN, _WIDE = 20, 74, 560  # pixels of a line, of a decision, and of all decisions at most
_PATH, _REST = "#D55E00", "#9aa4ad"


class _Part(NamedTuple):
    """What lies below a node: how many classes, the first two, and their probability."""

    classes: int
    first: tuple[int, ...]
    mass: float


@dataclass
class _Node:
    """A node as it is drawn; without children, a class, or a ``part`` of the tree that is not drawn further."""

    part: _Part
    depth: int
    on_path: bool
    children: "list[_Node]" = field(default_factory=list)
    y: float = 0.0


def class_tree(
    nested: Sequence[Any],
    names: Sequence[str] | None = None,
    *,
    target: int | None = None,
    probabilities: Values | None = None,
    title: str = "",
) -> Picture:
    """A tree given as lists of lists, whose numbers are classes (`Tree.to_nested`), with the path to ``target``.

    ``names`` are those of the classes. With ``probabilities``, one for each class, the branches of the path say theirs.
    """
    vertices = _vertices(nested)
    count = _count_classes(vertices)
    p = None if probabilities is None else as_array("probabilities", probabilities, "classes").astype(np.float64)
    for what, given in (("names", names), ("probabilities", p)):
        if given is not None and len(given) != count:
            raise ValueError(f"{what} must be one for each of the {count} classes, got {len(given)}; pass all of them")
    if target is not None and not 0 <= target < count:
        raise ValueError(f"target must be a class from 0 to {count - 1}, got {target}; the tree has no other")
    root = _drawn(nested, vertices, target, p)
    nodes = _placed(root)
    name = lambda c: visible(str(names[c]), 24) if names is not None else f"class {c}"
    inner, steps = len(vertices), sum(node.on_path for node in nodes if node.children)
    touched = "" if target is None else f"; the path to {name(target)} touches {steps} of them"
    note = f"{count:,} classes, {inner:,} vertices{touched and f', of which the path touches {steps}'}."
    if p is not None and target is not None:
        note += f" The numbers are the probabilities of the branches; their product is {number(float(p[target]), 3)}."
    if any(not node.children and node.part.classes > 1 for node in nodes):
        note += " Grey lines end at parts that are not drawn: they say how many classes these hold."
    return Picture(
        _chart(nodes, name, p is not None, target is not None),
        title or ("Tree of the classes" if target is None else f"The path to {short(name(target), 28)}"),
        f"A tree over {count:,} classes with {inner:,} vertices{touched}.",
        note,
        _rows(nodes, name, p is not None),
        caption="Training on a class touches the vertices of its path alone; classes that part late share most of it.",
    )


def _chart(nodes: list[_Node], name: Callable[[int], str], shares: bool, path: bool) -> Any:
    import altair as alt

    deepest, lowest = max(node.depth for node in nodes), max(node.y for node in nodes)
    column = max(40, min(_COLUMN, _WIDE // deepest))
    label = max(7 * len(_label(node, name)) / column + node.depth for node in nodes if not node.children) - deepest
    across = alt.Scale(domain=[-0.15, deepest + label], nice=False)
    down = alt.Scale(domain=[-0.7, lowest + 0.7], reverse=True, nice=False)
    base = lambda rows: alt.Chart(alt.NamedData(rows)).encode(
        x=alt.X("x:Q", axis=None, scale=across), y=alt.Y("y:Q", axis=None, scale=down)
    )
    parts = alt.Scale(domain=["on the path", "beside it"], range=[_PATH, _REST])
    legend = alt.Legend(title=None, orient="top") if path else None
    edges = base("rows").mark_line(strokeWidth=1.5, aria=False)
    edges = edges.encode(detail="edge:N", order="corner:Q", color=alt.Color("part:N", scale=parts, legend=legend))
    dots = base("vertices").mark_circle(size=42, opacity=1, aria=False)
    dots = dots.encode(color=alt.condition("datum.on", alt.value(_PATH), alt.value(_REST)))
    words = base("ends").mark_text(align="left", dx=5, aria=False)
    words = words.encode(text="name:N", opacity=alt.condition("datum.drawn", alt.value(1), alt.value(0.65)))
    layers = [edges, dots, words]
    if shares and path:
        layers.append(base("shares").mark_text(dy=-6, fontSize=10, aria=False).encode(text="share:N"))
    height = _ROW * (lowest + 1) + 10
    return alt.layer(*layers).properties(width=round(column * (deepest + label)), height=height)


def _rows(nodes: list[_Node], name: Callable[[int], str], shares: bool) -> dict[str, list[dict[str, Any]]]:
    """What the chart draws: corners of lines, vertices, the words at the ends, and the shares of branches."""
    rows: dict[str, list[dict[str, Any]]] = {"rows": [], "vertices": [], "ends": []}
    if shares:
        rows["shares"] = []
    for node in nodes:
        if not node.children:
            drawn = node.part.classes == 1
            rows["ends"].append({"x": node.depth, "y": node.y, "name": _label(node, name), "drawn": drawn})
            continue
        rows["vertices"].append({"x": node.depth, "y": node.y, "on": node.on_path})
        for child in node.children:
            part, edge = ("on the path" if child.on_path else "beside it"), len(rows["rows"])
            for corner, (x, y) in enumerate([(node.depth, node.y), (node.depth, child.y), (child.depth, child.y)]):
                rows["rows"].append({"x": x, "y": y, "edge": edge, "corner": corner, "part": part})
            if shares and child.on_path:
                share = child.part.mass / max(node.part.mass, 1e-300)
                rows["shares"].append({"x": node.depth + 0.5, "y": child.y, "share": number(share, 2)})
    # what is on the path comes last, over the rest
    rows["rows"].sort(key=lambda row: row["part"] == "on the path")
    return rows


def _label(node: _Node, name: Callable[[int], str]) -> str:
    some = ", ".join(name(c) for c in node.part.first)
    return some if node.part.classes == 1 else f"{node.part.classes:,} classes: {some} …"


def _drawn(nested: Sequence[Any], vertices: list[Sequence[Any]], target: int | None, p: np.ndarray | None) -> _Node:
    """What is drawn of the tree: all of a small one, else the path and what lies beside it, or the first levels."""
    parts = _parts(vertices, p)
    path = _path(vertices, target)
    root = _Node(parts[id(nested)], 0, target is not None)
    small, ends = root.part.classes <= _WHOLE, 1
    waiting = deque([(root, nested)])
    while waiting:
        node, listed = waiting.popleft()
        if target is None and not small and ends - 1 + len(listed) > _ENDS:
            continue
        here = next((i for i, child in enumerate(listed) if _key(child) in path), len(listed) // 2)
        near = range(len(listed)) if small else range(max(0, here - _BESIDE), min(len(listed), here + _BESIDE + 1))
        for rest in ([*range(near.start)], [*near], [*range(near.stop, len(listed))]):
            if rest and rest[0] not in near:
                held = [parts[_key(listed[i])] for i in rest]
                node.children.append(_Node(_together(held), node.depth + 1, False))
                continue
            for i in rest:
                child = listed[i]
                new = _Node(parts[_key(child)], node.depth + 1, _key(child) in path)
                node.children.append(new)
                around = (node.on_path and node.part.classes <= _CLOSE) or (not node.on_path and target is not None)
                if not isinstance(child, int) and (small or new.on_path or around or target is None):
                    waiting.append((new, child))
        ends += len(node.children) - 1
    return root


def _key(child: Any) -> Any:
    """A list is known by its place in memory, a class by a name of its own."""
    return ("class", child) if isinstance(child, int) else id(child)


def _parts(vertices: list[Sequence[Any]], p: np.ndarray | None) -> dict[Any, _Part]:
    """What lies below each node, from the deepest up."""
    parts: dict[Any, _Part] = {}
    for listed in reversed(vertices):
        for child in listed:
            if isinstance(child, int):
                parts["class", child] = _Part(1, (child,), 0.0 if p is None else float(p[child]))
        parts[id(listed)] = _together([parts[_key(child)] for child in listed])
    return parts


def _together(parts: list[_Part]) -> _Part:
    first = tuple(c for part in parts[:2] for c in part.first)[:2]
    return _Part(sum(part.classes for part in parts), first, sum(part.mass for part in parts))


def _path(vertices: list[Sequence[Any]], target: int | None) -> set[Any]:
    """The nodes from the root to a class."""
    if target is None:
        return set()
    above = {_key(child): listed for listed in vertices for child in listed}
    node: Any = ("class", target)
    path = {node}
    while node in above:
        node = id(above[node])
        path.add(node)
    return path


def _vertices(nested: Sequence[Any]) -> list[Sequence[Any]]:
    """Every list of lists, each before those inside it; without recursion, for trees of any depth."""
    found = [nested]
    for listed in found:  # grows while it is walked
        found += [child for child in listed if not isinstance(child, int)]
    return found


def _count_classes(vertices: list[Sequence[Any]]) -> int:
    classes = sorted(child for listed in vertices for child in listed if isinstance(child, int))
    if classes != list(range(len(classes))) or len(classes) < 2:
        raise ValueError(
            f"the leaves of a tree must be two or more classes, numbered from 0, each once, got {classes[:4]} …; "
            "pass tree.to_nested()"
        )
    return len(classes)


def _placed(root: _Node) -> list[_Node]:
    """All nodes, each at its height: leaves one below another, vertices in the middle of their branches."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(node.children)
    ends = [node for node in order if not node.children]
    for y, node in enumerate(ends):
        node.y = float(y)
    for node in reversed(order):
        if node.children:
            node.y = (node.children[0].y + node.children[-1].y) / 2
    return order


__all__ = ["class_tree"]
