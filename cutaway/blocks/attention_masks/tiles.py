r"""Layouts: the blocks of the score matrix that a pattern occupies.

    occupied(r, c) = max M[i, j] over the queries i of block r and the keys j of block c

A pattern is compiled once for each length: its bounds say which blocks may be occupied and which are full, and only
the blocks in between are looked at pair by pair. A row of blocks then becomes a `Tile`: its queries, and the keys they
see as a few slices. Neighbouring rows join one tile where they see the same keys (block-diagonal patterns) or keys that
move along with them (windows), since one large call to a kernel is faster than several small ones.

Blocks as in Child et al. 2019; tiles in step are the sliding chunks of Beltagy et al. 2020. Notes: N3 table 1.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from cutaway.blocks.attention_masks.algebra import Spans, Where
from cutaway.blocks.attention_masks.patterns import Pattern, read_pattern

EMPTY = -1  # the number of a block's mask where nothing is visible; the last of the masks
WASTE = 1.125  # entries that a joined tile may compute for each entry of its occupied blocks: see _agrees
JOINED, HEADS = 8, 16  # rows of blocks and heads in a tile at most: with more, its gradients leave the cache
LOOKED = 256  # blocks looked at pair by pair at a time
KEPT = 16  # layouts in the cache


@dataclass(frozen=True, eq=False)
class Tile:
    """Queries start..stop−1 in ``count`` rows; the first row sees the keys of ``runs``, each next one a row further on.

    ``masks`` numbers the mask of every block, row by row; one row where all have the same.
    """

    start: int
    stop: int
    count: int
    runs: tuple[tuple[int, int], ...]
    masks: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return (self.stop - self.start) // self.count

    @property
    def width(self) -> int:
        return sum(b - a for a, b in self.runs)

    def queries(self, x: Float[Tensor, "h n *d"]) -> Float[Tensor, "count h height *d"]:
        """The tile's part of something that every query has; a view."""
        return x[:, self.start : self.stop].unflatten(1, (self.count, self.height)).transpose(0, 1)

    def keys(self, x: Float[Tensor, "h m d"]) -> Float[Tensor, "count h width d"]:
        """The tile's part of the keys or values; a view, unless the keys come in several runs."""
        if len(self.runs) > 1:
            return torch.cat([x[:, a:b] for a, b in self.runs], 1)[None]
        ((a, b),) = self.runs
        if self.count == 1:
            return x[None, :, a:b]
        return x[:, a : b + (self.count - 1) * self.height].unfold(1, b - a, self.height).permute(1, 0, 3, 2)

    def add_to_keys(self, total: Float[Tensor, "h m d"], part: Float[Tensor, "count h width d"]) -> None:
        """Adds gradients of the tile's keys to those of all keys; where rows overlap, they add up."""
        if self.count == 1:
            pieces = part[0].split([b - a for a, b in self.runs], 1)
            for (a, b), piece in zip(self.runs, pieces):
                total[:, a:b] += piece
            return
        # The first blocks of all rows lie side by side, and so do the second ones: one addition for each.
        start, rows = self.runs[0][0], part.transpose(0, 1)
        for at in range(0, self.width, self.height):
            side_by_side = total[:, start + at : start + at + self.count * self.height]
            side_by_side.unflatten(1, (self.count, self.height)).add_(rows[:, :, at : at + self.height])


@dataclass(frozen=True, eq=False)
class TileLayout:
    """The tiles for every example, the distinct masks of blocks (first all True, last all False), and the entries of
    the occupied blocks."""

    tiles: list[list[Tile]]
    masks: Bool[Tensor, "masks rows columns"]
    entries: int

    def bias(self, tile: Tile, dtype: torch.dtype) -> Float[Tensor, "count 1 height width"] | None:
        """log M for a tile: 0 where visible, −∞ elsewhere; None if all is visible."""
        if not any(map(any, tile.masks)):
            return None
        seen = self.masks[torch.tensor(tile.masks)].transpose(1, 2).flatten(2)  # rows, queries, keys
        if tile.count == 1:
            seen = seen.flatten(0, 1)[None]
        seen = seen[:, None, : tile.height, : tile.width]
        return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)

    def walk(self, x: Float[Tensor, "g h n d"]) -> Iterator["Part"]:
        """The tiles of every group, a few heads at a time, each with its bias."""
        for group in range(x.shape[0]):
            for first in range(0, x.shape[1], HEADS):
                before, bias = None, None
                for tile in self.tiles[group % len(self.tiles)]:
                    shape = (tile.masks, tile.height, tile.width)
                    if shape != before:  # the tiles of a window all have the same
                        before, bias = shape, self.bias(tile, x.dtype)
                    yield Part(tile, bias, group, slice(first, first + HEADS))


class Part(NamedTuple):
    """A tile for some heads of a group: what it takes from, and adds to, tensors of all groups and heads."""

    tile: Tile
    bias: Float[Tensor, "#count 1 height width"] | None
    group: int
    heads: slice

    def queries(self, x: Float[Tensor, "g h n *d"]) -> Float[Tensor, "count few height *d"]:
        return self.tile.queries(x[self.group, self.heads])

    def keys(self, x: Float[Tensor, "g h m d"]) -> Float[Tensor, "count few width d"]:
        return self.tile.keys(x[self.group, self.heads])

    def add_to_keys(self, total: Float[Tensor, "g h m d"], part: Float[Tensor, "count few width d"]) -> None:
        self.tile.add_to_keys(total[self.group, self.heads], part)


class _Row(NamedTuple):
    """One row of blocks: its queries, and for each block of keys that it sees the number of its mask."""

    start: int
    stop: int
    masks: dict[int, int]


def compile_layout(pattern: Pattern, queries: int, keys: int, offset: int, block: int) -> TileLayout:
    """The occupied blocks of a pattern, as tiles.

    >>> from cutaway.blocks.attention_masks.patterns import window
    >>> [(tile.start, tile.stop, tile.runs) for tile in compile_layout(window(3), 8, 8, 0, 4).tiles[0]]
    [(0, 4, ((0, 4),)), (4, 8, ((0, 8),))]
    """
    rows = Spans(offset, offset + queries, max(1, min(block, queries)))  # few queries: no taller than they are
    columns = Spans(0, keys, block)
    states, masks = _block_states(pattern, rows, columns)
    cut = lambda: [_Row(r * rows.size, min((r + 1) * rows.size, queries), {}) for r in range(states.shape[1])]
    examples = [cut() for _ in states]
    occupied = states != EMPTY
    e, r, c = occupied.nonzero().T
    for at, number in zip(zip(e.tolist(), r.tolist(), c.tolist()), states[occupied].tolist()):
        examples[at[0]][at[1]].masks[at[2]] = number
    entries = (rows.last - rows.first + 1)[r] * (columns.last - columns.first + 1)[c]
    tiles = [[_tile(group, block, keys) for group in _join(example, keys // block)] for example in examples]
    return TileLayout(tiles, masks, int(entries.sum()))


def _block_states(pattern: Pattern, rows: Spans, columns: Spans) -> tuple[Int[Tensor, "e r c"], Bool[Tensor, "m i j"]]:
    """The state of every block, −1 if empty, else the number of its mask; and the masks, 0 being all True."""
    examples, heads = pattern.lead or (1, 1)
    size = (examples, heads, len(rows.first), len(columns.first))
    some, every = (x.expand(size).flatten(0, 1) for x in pattern.bounds(rows, columns))
    states = torch.where(every, 0, EMPTY)
    numbers = {torch.ones(rows.size, columns.size, dtype=torch.bool).numpy().tobytes(): 0}
    for open_question in (some & ~every).nonzero().split(LOOKED):
        e, r, c = open_question[:, :, None, None].unbind(1)
        i, j = rows.first[r] + torch.arange(rows.size)[:, None], columns.first[c] + torch.arange(columns.size)
        at = Where(rows.stop - rows.start, columns.stop, rows.start, e // heads, e % heads)
        outside = (i >= rows.stop) | (j >= columns.stop)  # there anything goes: tiles are cut to fit
        seen = pattern.visible(i.clamp(max=rows.stop - 1), j.clamp(max=columns.stop - 1), at).expand(outside.shape)
        occupied = (seen & ~outside).flatten(1).any(1).tolist()
        pictures = [mask.tobytes() for mask in (seen | outside).numpy()]
        states[tuple(open_question.T)] = torch.tensor(
            [numbers.setdefault(mask, len(numbers)) if some else EMPTY for mask, some in zip(pictures, occupied)],
            dtype=torch.int64,
        )
    masks = torch.frombuffer(bytearray(b"".join(numbers)), dtype=torch.bool).view(-1, rows.size, columns.size)
    return states, torch.cat([masks, torch.zeros_like(masks[:1])])


def _join(rows: list[_Row], whole: int) -> list[list[_Row]]:
    """Neighbours in groups: a group sees keys that move on with its rows, or very nearly the same keys throughout."""
    groups: list[list[_Row]] = []
    for row in filter(lambda row: row.masks, rows):
        joined = [*groups[-1], row] if groups else []
        if 0 < len(joined) <= JOINED and joined[-2].stop == row.start and (_moves(joined, whole) or _agrees(joined)):
            groups[-1] = joined
        else:
            groups.append([row])
    return groups


def _moves(rows: list[_Row], whole: int) -> bool:
    """Whether every row sees one run of whole blocks, a block further on than the row before."""
    first, steps = list(rows[0].masks), range(len(rows))
    return (
        first == list(range(first[0], first[0] + len(first)))
        and first[-1] + len(rows) <= whole
        and all(list(row.masks) == [c + step for c in first] for row, step in zip(rows, steps))
        and len({row.stop - row.start for row in rows}) == 1
    )


def _agrees(rows: list[_Row]) -> bool:
    """Whether the rows together see hardly more than each does."""
    return len(rows) * len(set().union(*(row.masks for row in rows))) <= WASTE * sum(len(row.masks) for row in rows)


def _tile(rows: list[_Row], block: int, keys: int) -> Tile:
    moves = len(rows) > 1 and _moves(rows, keys // block)
    seen = sorted(set().union(*(row.masks for row in (rows[:1] if moves else rows))))
    starts = [c for c in seen if c - 1 not in seen]
    stops = [c + 1 for c in seen if c + 1 not in seen]
    runs = tuple((a * block, min(b * block, keys)) for a, b in zip(starts, stops))
    masks = tuple(tuple(row.masks.get(c + step * moves, EMPTY) for c in seen) for step, row in enumerate(rows))
    if moves and len(set(masks)) == 1:
        masks = masks[:1]
    return Tile(rows[0].start, rows[-1].stop, len(rows) if moves else 1, runs, masks)


# ---------------------------------------------------------------------------------------------------------------------
# The cache. Its keys are the expressions of patterns, not their objects: a pattern made anew in every pass is found.

_cache: OrderedDict[tuple[object, ...], TileLayout] = OrderedDict()
_lock = threading.Lock()


def find_layout(
    spelling: str,
    tensors: Sequence[Tensor],
    queries: int,
    keys: int,
    offset: int,
    block: int,
    device: torch.device | str = "cpu",
) -> TileLayout:
    """The layout of the pattern that ``spelling`` and ``tensors`` make, from the cache or compiled now."""
    contents = tuple((t.shape, hashlib.sha256(t.cpu().numpy().tobytes()).digest()) for t in tensors)
    key = (spelling, contents, queries, keys, offset, block, str(device))
    with _lock:
        layout = _cache.get(key)
        if layout is not None:
            _cache.move_to_end(key)
            return layout
    pattern = read_pattern(spelling, [t.cpu() for t in tensors])
    layout = compile_layout(pattern, queries, keys, offset, block)
    layout = replace(layout, masks=layout.masks.to(device))
    with _lock:
        _cache[key] = layout
        while len(_cache) > KEPT:
            _cache.popitem(last=False)
    return layout
