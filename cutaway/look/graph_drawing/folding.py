r"""Groups of a compute graph: one for each call of a module, folded or open.

    group = the operators that ran inside one call          an interval of the execution, so no two groups form a cycle
    stack = consecutive groups with the same operators and shapes, as the twelve blocks of a GPT, folded into one

A value that leaves one group and enters another crosses their borders: inside each group that it passes it is a line of
its own, from the border or to it. So the inside of a group does not depend on what is folded outside, and vice versa.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Union

from cutaway.inside.address_globs import UnknownAddress, matching, unknown_address
from cutaway.look.graph_drawing.rows import Line

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph, Node, Value

STACKED = 3  # the fewest groups that are drawn as one
BOXES = 40  # about how many boxes are drawn by default


@dataclass(eq=False)
class Group:
    """A call of a module, or a stack of such calls. ``slots`` and ``lines`` are what stands inside it."""

    number: int
    path: str
    kind: str
    call: int = 1
    parent: "Group | None" = None
    parts: list[Union["Group", "Node"]] = field(default_factory=list)
    stacked: bool = False
    slots: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def inner(self) -> list["Group"]:
        return [part for part in self.parts if isinstance(part, Group)]

    @property
    def nodes(self) -> Iterator["Node"]:
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.nodes
            else:
                yield part

    @property
    def above(self) -> list["Group"]:
        """The groups around this one and itself, from the outermost."""
        return [*(self.parent.above if self.parent else ()), self]

    @property
    def name(self) -> str:
        """Its name inside the group around it: "attention", "blocks.0"."""
        around = next((group.path for group in reversed(self.above[:-1]) if not group.stacked), "")
        name = self.path.removeprefix(f"{around}.") if around else self.path
        if self.stacked and self.parts:
            first, last = self.inner[0], self.inner[-1]
            if first.path != last.path:
                return f"{name} … {last.path.rpartition('.')[2]}"
        return name

    @property
    def parameters(self) -> list["Value"]:
        """The parameters used inside, each once."""
        used = {edge.value.index: edge.value for node in self.nodes for edge in node.inputs}
        return [value for value in used.values() if value.kind == "parameter"]


def grouped(graph: "Graph") -> list[Group]:
    """All groups, the outermost first, each with its slots and lines."""
    groups = [Group(0, "", graph.modules[""].kind if "" in graph.modules else "")]
    home: dict[int, Group] = {}
    chain: list[Group] = []  # the calls that are open
    for node in graph.nodes:
        calls = [call for call in node.within if call[0]]
        same = 0
        while same < min(len(chain), len(calls)) and (chain[same].path, chain[same].call) == calls[same]:
            same += 1
        chain = chain[:same]
        for path, call in calls[same:]:
            parent = chain[-1] if chain else groups[0]
            chain.append(Group(len(groups), path, graph.modules[path].kind, call, parent))
            parent.parts.append(chain[-1])
            groups.append(chain[-1])
        home[node.index] = chain[-1] if chain else groups[0]
        home[node.index].parts.append(node)
    for group in groups:
        _stack(group, groups)
    _connect(graph, groups, home)
    return groups


def _stack(group: Group, groups: list[Group]) -> None:
    """Puts runs of groups that are the same inside into a group of their own."""

    def alike(part: Any) -> Any:
        if not isinstance(part, Group):
            return (None, part.index)
        container, _, name = part.path.rpartition(".")
        return (container if name.isdigit() else part.path, part.kind, _signature(part))

    parts: list[Group | Node] = []
    for _, run in groupby(group.parts, alike):
        members = list(run)
        if len(members) < STACKED or (len(members) == len(group.parts) and group.stacked):
            parts += members
            continue
        first = members[0]
        assert isinstance(first, Group)
        stack = Group(len(groups), first.path, first.kind, first.call, group, members, stacked=True)
        for member in stack.inner:
            member.parent = stack
        groups.append(stack)
        parts.append(stack)
    group.parts = parts


def _signature(group: Group) -> tuple[Any, ...]:
    """The structure of a group, to compare groups by: its operators, their shapes, and where their inputs come from."""
    nodes = list(group.nodes)
    places = {value.index: (i, k) for i, node in enumerate(nodes) for k, value in enumerate(node.outputs)}
    return tuple(
        (
            node.name,
            node.module.removeprefix(group.path),
            tuple(tuple(value.shape) for value in node.outputs),
            tuple(places.get(e.value.index, (e.value.kind, tuple(e.value.shape))) for e in node.inputs),
        )
        for node in nodes
    )


def _connect(graph: "Graph", groups: list[Group], home: dict[int, Group]) -> None:
    above = {group.number: group.above for group in groups}
    routes: list[tuple[Value, Group, str, int | None]] = []  # value, where it goes, to which slot, as which edge
    for i, edge in enumerate(graph.edges):
        routes.append((edge.value, home[edge.consumer.index], f"op:{edge.consumer.index}", i))
    ends = graph.outputs
    routes += [(value, groups[0], f"end:{value.index}", None) for value in ends]
    stands: dict[int, Group] = {}
    for value, group, _, _ in routes:
        if value.producer is not None:
            stands[value.index] = home[value.producer.index]
        elif value.kind == "input":
            stands[value.index] = groups[0]
        else:  # a parameter stands in the innermost group that holds all its uses
            stands[value.index] = _common(above, stands.get(value.index, group), group)
    borders: list[dict[str, None]] = [{} for _ in groups]
    sources: list[dict[str, None]] = [{} for _ in groups]
    lines: list[dict[tuple[Any, ...], list[int]]] = [{} for _ in groups]
    for value, group, slot, number in routes:
        start = f"op:{value.producer.index}" if value.producer is not None else f"value:{value.index}"
        if value.producer is None:
            sources[stands[value.index].number][start] = None
        common = _common(above, stands[value.index], group)
        depth = len(above[common.number])
        outwards, inwards = above[stands[value.index].number][depth:], above[group.number][depth:]
        for one in reversed(outwards):
            borders[one.number][f"out:{value.index}"] = None
            _carry(lines[one.number], (start, f"out:{value.index}", value.index), number)
            start = f"group:{one.number}"
        for one, other in zip([common, *inwards], inwards):
            _carry(lines[one.number], (start, f"group:{other.number}", value.index), number)
            start = f"in:{value.index}"
            borders[other.number][start] = None
        _carry(lines[group.number], (start, slot, value.index, number), number)
    for group in groups:
        parts = [f"group:{part.number}" if isinstance(part, Group) else f"op:{part.index}" for part in group.parts]
        ports = borders[group.number]
        stops = [f"end:{value.index}" for value in ends] if group.number == 0 else []
        group.slots = [
            *(port for port in ports if port.startswith("in:")),
            *sources[group.number],
            *parts,
            *stops,
            *(port for port in ports if port.startswith("out:")),
        ]
        group.lines = [Line(key[0], key[1], key[2], tuple(edges)) for key, edges in lines[group.number].items()]


def _carry(lines: dict[tuple[Any, ...], list[int]], key: tuple[Any, ...], number: int | None) -> None:
    edges = lines.setdefault(key, [])
    if number is not None:
        edges.append(number)


def _common(above: dict[int, list[Group]], one: Group, other: Group) -> Group:
    pairs = zip(above[one.number], above[other.number])
    return [a for a, b in pairs if a is b][-1]


def opened(groups: Sequence[Group], open: str | Sequence[str] = (), depth: int | None = None) -> set[int]:
    """The groups that are drawn open, by number.

    ``depth`` opens that many levels of modules, ``open`` modules by their addresses (`*` one name, `**` any depth) and
    what is around them. Without either, levels are opened as long as no more than about 40 boxes are drawn.
    """
    patterns = [open] if isinstance(open, str) else list(open)
    if depth is not None and depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}; 1 shows the outermost modules folded")
    found = {0}
    if depth is not None:
        found |= {group.number for group in groups if _depth(group) < depth}
    elif not patterns:
        found = _fitting(groups)
    known = {group.path for group in groups if group.path and not group.stacked}
    for pattern in patterns:
        paths = set(matching(pattern, known))
        if not paths:
            raise UnknownAddress(unknown_address(pattern, sorted(known), "name a module that ran"))
        for group in groups:
            if group.path in paths and not group.stacked:
                found |= {around.number for around in group.above}
    return found


def _depth(group: Group) -> int:
    return sum(not around.stacked for around in group.above[1:]) + group.stacked


def _fitting(groups: Sequence[Group]) -> set[int]:
    if len(list(groups[0].nodes)) <= BOXES:
        return {group.number for group in groups}
    found, level = {0}, [groups[0]]
    boxes = len(groups[0].slots)
    while level:
        level = [inner for group in level for inner in group.inner if not inner.stacked]
        boxes += sum(sum(not s.startswith(("in:", "out:")) for s in group.slots) - 1 for group in level)
        if boxes > BOXES:
            break
        found |= {group.number for group in level}
    return found
