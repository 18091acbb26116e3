r"""The coordinates of every part of a drawing, computed from widths and heights, inner groups before outer ones.

    x    as near as possible to the neighbours in the rows above and below (columns.py)
    y    row by row from the top, a row as high as its tallest slot

The rows come from rows.py and do not depend on what is folded, so that opening a group only moves the others apart.
An open group is as large as its content, and lines enter and leave it at its borders.
The page repeats this in `assets/placing.js`; a test holds the two equal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cutaway.look.graph_drawing.columns import ACROSS, Link, Size, across, is_lane
from cutaway.look.graph_drawing.rows import Arrangement, Line

PAD, HEADER, GAP = 14.0, 32.0, 12.0  # pixels
PORTS = 22.0  # between the ends of lines on one box
METRICS = {"pad": PAD, "header": HEADER, "gap": GAP, "ports": PORTS, **ACROSS}


@dataclass(frozen=True)
class Sheet:
    """A group before it is placed: its number, the width of its title, its lines and their arrangement."""

    number: int
    title: float
    lines: Sequence[Line]
    arrangement: Arrangement
    inner: dict[str, "Sheet"] = field(default_factory=dict)  # groups that are open, by slot


@dataclass(frozen=True)
class Bundle:
    """Lines drawn as one stroke: those of several values between the same folded groups."""

    lines: tuple[int, ...]
    labelled: bool  # at an open group or a border the line goes on, and the label stands where it ends


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def moved(self, x: float, y: float) -> "Box":
        return Box(self.left + x, self.top + y, self.width, self.height)


@dataclass(frozen=True)
class Route:
    """A stroke and its label: for each slot that it passes where it enters and leaves, (x, top, bottom)."""

    bundle: Bundle
    stops: tuple[tuple[float, float, float], ...]
    label: Box | None

    def moved(self, x: float, y: float) -> "Route":
        stops = tuple((at + x, top + y, bottom + y) for at, top, bottom in self.stops)
        return Route(self.bundle, stops, self.label.moved(x, y) if self.label else None)


@dataclass(frozen=True)
class Placed:
    """A group with everything in it, in its own coordinates."""

    width: float
    height: float
    boxes: dict[str, Box]
    routes: list[Route]
    inner: dict[str, "Placed"]


def bundles(sheet: Sheet) -> list[Bundle]:
    """Which lines are drawn, and which of them together."""
    found: dict[tuple[object, ...], list[int]] = {}
    for number, line in enumerate(sheet.lines):
        merged = line.stop.startswith("group:") and line.stop not in sheet.inner and line.start not in sheet.inner
        found.setdefault((line.start, line.stop) if merged else (number,), []).append(number)
    result = []
    for numbers in found.values():
        stop = sheet.lines[numbers[0]].stop
        result.append(Bundle(tuple(numbers), not stop.startswith("out:") and stop not in sheet.inner))
    return result


def place(sheet: Sheet, size: Callable[[str], Size], label: Callable[[Sequence[Line]], Size]) -> Placed:
    """Coordinates of a group. ``size`` says how large a leaf or a folded group is, ``label`` the words on lines."""
    inner = {slot: place(part, size, label) for slot, part in sheet.inner.items()}
    drawn = bundles(sheet)
    sizes: dict[str, Size] = {}
    for bundle in drawn:
        for slot in sheet.arrangement.paths[bundle.lines[0]]:
            if slot in inner:
                sizes[slot] = (inner[slot].width, inner[slot].height)
            elif slot.startswith("label:"):
                sizes[slot] = label([sheet.lines[n] for n in bundle.lines]) if bundle.labelled else (0.0, 0.0)
            else:
                sizes[slot] = (0.0, 0.0) if slot.startswith(("lane:", "in:", "out:")) else size(slot)
    for row in sheet.arrangement.rows:  # what no line reaches
        for slot in row:
            if slot not in sizes and not slot.startswith(("lane:", "label:")):
                sizes[slot] = (inner[slot].width, inner[slot].height) if slot in inner else size(slot)
    rows = [[slot for slot in row if slot in sizes] for row in sheet.arrangement.rows]
    centres = across(rows, sizes, _links(sheet, drawn, inner))
    left = min((centres[slot] - w / 2 for slot, (w, _) in sizes.items()), default=0.0)
    right = max((centres[slot] + w / 2 for slot, (w, _) in sizes.items()), default=0.0)
    framed = sheet.number > 0  # the outermost group has no frame
    ports = [centres[slot] for slot in rows[0] if slot.startswith("in:")]
    if framed and ports:  # the title stands left of where lines come in
        left = min(left, min(ports) - sheet.title + 18)
    width = max(right - left, sheet.title if framed else 0.0) + 2 * PAD
    shift = (width - (right - left)) / 2 - left
    boxes: dict[str, Box] = {}
    spans: dict[str, tuple[float, float]] = {}
    y = PAD if not framed else 0.0 if ports else HEADER
    for r, row in enumerate(rows):
        tall = max((sizes[slot][1] for slot in row), default=0.0)
        for slot in row:
            w, h = sizes[slot]
            boxes[slot] = Box(centres[slot] + shift - w / 2, y + (tall - h) / 2, w, h)
            spans[slot] = (y, y + tall)
        y += tall
        if r < len(rows) - 1:
            y += HEADER if y == 0.0 else GAP
    for slot in rows[0]:  # lines come in straight, past the title
        if slot.startswith("in:"):
            spans[slot] = (0.0, HEADER - GAP)
    height = y + (0.0 if any(slot.startswith("out:") for slot in rows[-1]) else PAD)
    routes = _routes(sheet, drawn, inner, boxes, spans)
    return Placed(width, height, boxes, routes, inner)


def _port(inner: dict[str, Placed], slot: str, port: str) -> float:
    """Where in an open group a value enters or leaves, from the group's middle."""
    if slot not in inner:
        return 0.0
    return inner[slot].boxes[port].middle - inner[slot].width / 2


def _links(sheet: Sheet, drawn: list[Bundle], inner: dict[str, Placed]) -> list[Link]:
    """Pairs of slots in neighbouring rows: upper, lower, where in each the line ends, and how straight it should be."""
    links: dict[tuple[str, str, float, float], float] = {}
    for bundle in drawn:
        line, path = sheet.lines[bundle.lines[0]], sheet.arrangement.paths[bundle.lines[0]]
        for upper, lower in pairwise(path):
            ends = (_port(inner, upper, f"out:{line.value}"), _port(inner, lower, f"in:{line.value}"))
            lanes = is_lane(upper) + is_lane(lower)
            links[upper, lower, *ends] = (1.0, 2.0, 8.0)[lanes]
    return [(upper, lower, a, b, weight) for (upper, lower, a, b), weight in links.items()]


def _routes(
    sheet: Sheet,
    drawn: list[Bundle],
    inner: dict[str, Placed],
    boxes: dict[str, Box],
    spans: dict[str, tuple[float, float]],
) -> list[Route]:
    paths = [sheet.arrangement.paths[bundle.lines[0]] for bundle in drawn]
    first = [sheet.lines[bundle.lines[0]] for bundle in drawn]
    # the ends of lines on a box stand beside each other as they come; those of one value leave together
    entering: dict[str, list[tuple[float, int]]] = {}
    leaving: dict[str, dict[int, float]] = {}
    for i, (line, path) in enumerate(zip(first, paths)):
        entering.setdefault(line.stop, []).append((boxes[path[-2]].middle, i))
        leaving.setdefault(line.start, {}).setdefault(line.value, boxes[path[1]].middle)
    routes = []
    for i, (bundle, line, path) in enumerate(zip(drawn, first, paths)):
        stops = []
        for slot in path:
            box, (top, bottom) = boxes[slot], spans[slot]
            at = box.middle
            if slot == line.start:
                order = sorted(leaving[slot], key=lambda value: (leaving[slot][value], value))
                at += _port(inner, slot, f"out:{line.value}") if slot in inner else _spread(box, line.value, order)
                stops.append((at, box.bottom, bottom))
            elif slot == line.stop:
                turns = [number for _, number in sorted(entering[slot])]
                at += _port(inner, slot, f"in:{line.value}") if slot in inner else _spread(box, i, turns)
                stops.append((at, top, box.top))
            else:
                stops.append((at, top, bottom))
        routes.append(Route(bundle, tuple(stops), boxes[path[-2]] if bundle.labelled else None))
    return routes


def _spread(box: Box, one: int, order: Sequence[int]) -> float:
    return (order.index(one) - (len(order) - 1) / 2) * min(PORTS, box.width / (len(order) + 1))


def lifted(placed: Placed, x: float = 0.0, y: float = 0.0) -> Placed:
    """A placed group in the coordinates of the whole drawing."""
    boxes = {slot: box.moved(x, y) for slot, box in placed.boxes.items()}
    routes = [route.moved(x, y) for route in placed.routes]
    inner = {slot: lifted(part, boxes[slot].left, boxes[slot].top) for slot, part in placed.inner.items()}
    return Placed(placed.width, placed.height, boxes, routes, inner)
