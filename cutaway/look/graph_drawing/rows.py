r"""A layered layout: the row of each part of a drawing, and its place in the row, before any width is known.

    row(b) ≥ row(a) + 1   for every line a → b              the longest path from the top, then down to the first use
    order within a row    by the mean place of neighbours    a few sweeps down and up, the one with fewest crossings

Sugiyama, Tagawa and Toda 1981; the barycentre sweeps as in Gansner et al. 1993. Odd rows hold the words on lines, so
that no label ever covers anything. Lines that carry one value share a lane past the rows that they skip: a residual
stream is one stroke, and a weight that a loop uses a hundred times does not cost a hundred lanes a row.
"""

from bisect import bisect, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 6


@dataclass(frozen=True)
class Line:
    """A line that carries one value inside a group, from the slot that it leaves to the slot that it enters.

    ``edges`` are the edges of the graph that it carries, by number; several if they go on inside the slot it enters.
    """

    start: str
    stop: str
    value: int
    edges: tuple[int, ...] = ()


@dataclass(frozen=True)
class Arrangement:
    """Slots by row from the top, each row from left to right, and for each line the slots that it passes."""

    rows: list[list[str]]
    paths: list[tuple[str, ...]]


def arrange(slots: Sequence[str], lines: Sequence[Line]) -> Arrangement:
    """Rows and paths. ``slots`` are in an order in which every line goes onwards; "in:" and "out:" are the border's.

    >>> arrange(["x", "f", "g"], [Line("x", "f", 0), Line("f", "g", 1), Line("x", "g", 0)]).rows
    [['x'], ['label:0', 'lane:0:1'], ['f', 'lane:0:2'], ['label:1', 'label:2'], ['g']]
    """
    ranks = _ranks(slots, lines)
    trunks: dict[tuple[str, int], int] = {}
    paths = []
    for number, line in enumerate(lines):
        trunk = trunks.setdefault((line.start, line.value), len(trunks))
        top, bottom = 2 * ranks[line.start], 2 * ranks[line.stop]
        lanes = [f"lane:{trunk}:{row}" for row in range(top + 1, bottom - 1)]
        paths.append((line.start, *lanes, f"label:{number}", line.stop))
    rows: list[list[str]] = [[] for _ in range(2 * max(ranks.values(), default=0) + 1)]
    seen = set()
    for slot in slots:
        rows[2 * ranks[slot]].append(slot)
    passing: list[list[str]] = [[] for _ in rows]
    for line, path in zip(lines, paths):
        for row, slot in enumerate(path[1:-1], 2 * ranks[line.start] + 1):
            if slot not in seen:
                seen.add(slot)
                passing[row].append(slot)
    # what passes begins in the middle, so that an input runs straight down between the parameters beside it
    rows = [row[: (len(row) + 1) // 2] + lanes + row[(len(row) + 1) // 2 :] for row, lanes in zip(rows, passing)]
    return Arrangement(_ordered(rows, paths), paths)


def _ranks(slots: Sequence[str], lines: Sequence[Line]) -> dict[str, int]:
    """The longest path from the top; then each slot down to its first use, if no more lines get longer by it."""
    into: dict[str, set[tuple[str, int]]] = {slot: set() for slot in slots}
    uses: dict[tuple[str, int], list[str]] = {}  # of each value that leaves a slot
    for line in lines:
        into[line.stop].add((line.start, line.value))
        uses.setdefault((line.start, line.value), []).append(line.stop)
    leaving: dict[str, list[tuple[str, int]]] = {slot: [] for slot in slots}
    for start, value in uses:
        leaving[start].append((start, value))
    ranks: dict[str, int] = {}
    first = int(any(slot.startswith("in:") for slot in slots))  # the borders have the first and last row to themselves
    for slot in slots:
        above = (ranks[start] + 1 for start, _ in into[slot])
        ranks[slot] = 0 if slot.startswith("in:") else max(above, default=first)
    last = max((rank for slot, rank in ranks.items() if not slot.startswith("out:")), default=0) + 1
    ranks |= {slot: last for slot in slots if slot.startswith("out:")}
    for slot in reversed(slots):
        if not leaving[slot] or slot.startswith("in:"):
            continue
        readers = [stop for value in leaving[slot] for stop in uses[value]]
        if all(stop.startswith("out:") for stop in readers):  # the way to the border may be long
            continue
        lowest = min(ranks[stop] for stop in readers) - 1
        alone = sum(len(uses[value]) == 1 for value in into[slot])  # a lane that others use is there anyway
        if alone <= len(leaving[slot]):
            ranks[slot] = lowest
    return ranks


def _ordered(rows: list[list[str]], paths: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Rows with few crossings. Equal means keep their order, so that the result is the same every time."""
    links = sorted({pair for path in paths for pair in pairwise(path)})
    above: dict[str, list[str]] = {slot: [] for row in rows for slot in row}
    below: dict[str, list[str]] = {slot: [] for row in rows for slot in row}
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    best, fewest = rows, _crossings(rows, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        rows = [list(row) for row in rows]
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for r in order:
            beside = rows[r - 1] if down else rows[r + 1]
            places = {slot: (i + 0.5) / len(beside) for i, slot in enumerate(beside)}
            neighbours = above if down else below
            mean = {}
            for i, slot in enumerate(rows[r]):
                near = [places[n] for n in neighbours[slot]]
                mean[slot] = sum(near) / len(near) if near else (i + 0.5) / len(rows[r])
            rows[r].sort(key=mean.__getitem__)
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _crossings(rows: list[list[str]], below: dict[str, list[str]]) -> int:
    """How many pairs of links between neighbouring rows cross."""
    total = 0
    for upper, lower in pairwise(rows):
        places = {slot: i for i, slot in enumerate(lower)}
        ends: list[int] = []
        for slot in upper:
            own = sorted(places[n] for n in below[slot])
            total += sum(len(ends) - bisect(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total
