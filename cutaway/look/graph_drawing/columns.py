r"""The x coordinates of a drawing: each slot stands as near as possible to its neighbours in the rows above and below.

    minimise Σ w_i (x_i − d_i)²   with   x_{i+1} − x_i ≥ s_i

d_i is the mean place of the neighbours, s_i keeps slot i clear of the next. That is isotonic regression (Barlow et al.
1972), solved exactly by pooling slots that would overlap; it is repeated in sweeps over the rows, as in the priority
method of Sugiyama et al. 1981. At the end, a slot with a single successor is put straight above it where there is room.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

SWEEPS, STRAIGHT = 40, 4
LONGEST = 40_000  # slots moved in all, where there are very many: fewer sweeps then
BESIDE, LANE = 18.0, 12.0  # pixels between slots, and between lines that pass
ACROSS = {"sweeps": SWEEPS, "longest": LONGEST, "straight": STRAIGHT, "beside": BESIDE, "lane": LANE}
Size = tuple[float, float]
Link = tuple[str, str, float, float, float]  # upper, lower, where in each the line ends, weight
Neighbours = dict[str, list[tuple[str, float, float]]]  # slot, how far from it one stands straight, weight


def across(rows: list[list[str]], sizes: dict[str, Size], links: list[Link]) -> dict[str, float]:
    """The middle of each slot."""
    up: Neighbours = {slot: [] for slot in sizes}
    down: Neighbours = {slot: [] for slot in sizes}
    for upper, lower, a, b, weight in links:
        up[lower].append((upper, a - b, weight))
        down[upper].append((lower, b - a, weight))
    apart: list[list[float]] = []
    x: dict[str, float] = {}
    for row in rows:
        gaps = []
        for one, other in pairwise(row):
            narrow = sizes[one][0] == 0.0 and sizes[other][0] == 0.0
            gaps.append((sizes[one][0] + sizes[other][0]) / 2 + (LANE if narrow else BESIDE))
        apart.append(gaps)
        at = -sum(gaps) / 2
        for slot, gap in zip(row, [*gaps, 0.0]):
            x[slot] = at
            at += gap
    for sweep in range(max(8, min(SWEEPS, LONGEST // max(1, len(sizes))))):
        downwards = sweep % 2 == 0
        for r in range(len(rows)) if downwards else range(len(rows) - 1, -1, -1):
            wanted, weights = [], []
            for slot in rows[r]:
                near = (up[slot] if downwards else down[slot]) if sweep < 4 else up[slot] + down[slot]
                total = sum(weight for _, _, weight in near)
                wanted.append(sum((x[n] + off) * weight for n, off, weight in near) / total if near else x[slot])
                weights.append(total if near else 0.1)
            x.update(zip(rows[r], apart_at_least(wanted, weights, apart[r])))
    _straighten(rows, apart, x, up, down)
    return x


def _straighten(
    rows: list[list[str]], apart: list[list[float]], x: dict[str, float], up: Neighbours, down: Neighbours
) -> None:
    """Puts slots that follow each other alone, and the lanes of one value, below each other where there is room."""
    chains: list[list[str]] = []
    ends: dict[str, list[str]] = {}
    shift: dict[str, float] = {}
    for row in rows:
        for slot in row:
            over = [n for n in up[slot] if is_lane(slot) and is_lane(n[0])]
            if not over and len(up[slot]) == 1 and len(down[up[slot][0][0]]) == 1:
                over = up[slot]
            if over and over[0][0] in ends:
                chain = ends.pop(over[0][0])
                shift[slot] = shift[over[0][0]] + over[0][1]
            else:
                chain = []
                shift[slot] = 0.0
                chains.append(chain)
            chain.append(slot)
            ends[slot] = chain
    beside: dict[str, tuple[str | None, float, str | None, float]] = {}
    for row, gaps in zip(rows, apart):
        for before, slot, after, gap, other in zip([None, *row], row, [*row[1:], None], [0.0, *gaps], [*gaps, 0.0]):
            beside[slot] = (before, gap, after, other)
    for _ in range(STRAIGHT):
        for chain in chains:
            low, high, total = -math.inf, math.inf, 0.0
            for slot in chain:
                left, gap, right, other = beside[slot]
                if left is not None:
                    low = max(low, x[left] + gap - shift[slot])
                if right is not None:
                    high = min(high, x[right] - other - shift[slot])
                total += x[slot] - shift[slot]
            if low <= high:
                at = min(max(total / len(chain), low), high)
                for slot in chain:
                    x[slot] = at + shift[slot]


def is_lane(slot: str) -> bool:
    return slot.startswith(("lane:", "label:"))


def apart_at_least(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones that keep their order and their gaps.

    >>> apart_at_least([0.0, 0.0, 9.0], [1.0, 1.0, 1.0], [4.0, 4.0])
    [-2.0, 2.0, 9.0]
    """
    offset, offsets = 0.0, [0.0]
    for gap in gaps:
        offset += gap
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for want, weight, off in zip(wanted, weights, offsets):
        mean, total, count = want - off, weight, 1
        while pools and pools[-1][0] > mean:
            before, heavy, more = pools.pop()
            mean = (mean * total + before * heavy) / (total + heavy)
            total, count = total + heavy, count + more
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + off for mean, off in zip(means, offsets)]
