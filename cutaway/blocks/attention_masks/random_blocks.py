r"""The random pattern: every block of queries sees its own keys and a few blocks drawn by lot.

    M[i, j] = [⌊j / block⌋ = ⌊i / block⌋ or ⌊j / block⌋ ∈ drawn(⌊i / block⌋)]

Zaheer et al. 2020 ("Big Bird", §2): random edges make short paths between all tokens. Theirs and ours join whole
blocks, since single pairs would occupy nearly all blocks, at nearly the full cost. Notes: N3 §5.9.1.
"""

import torch
from torch import Tensor

from cutaway.blocks.attention_masks.algebra import BLOCK, Pattern, Spans, Where, spell
from cutaway.blocks.checks import expect_positive


def random(count: int, seed: int = 0, block: int = BLOCK, causal: bool = True) -> Pattern:
    """Its own block and ``count`` drawn ones: M[i, j] = [⌊j / block⌋ ∈ own ∪ drawn].

    Causal: blocks are drawn from the earlier ones (all of them, where there are no more than ``count``), the own block
    is seen up to the query, and what a query sees does not depend on how many tokens follow. The seed decides, on every
    machine alike.

    >>> random(1, block=1, causal=False).dense(5, 5).sum(-1)
    tensor([2, 2, 2, 2, 2])
    """
    expect_positive(count=count, block=block)

    def drawn(queries: int, keys: int, device: torch.device) -> Tensor:
        """Which blocks of keys (columns) each block of queries (rows) has drawn."""
        rows, columns = -(-max(queries, 1) // block), -(-max(keys, 1) // block)
        r, c = torch.arange(rows, device=device)[:, None], torch.arange(max(rows, columns), device=device)
        allowed = c < r if causal else (c != r) & (c < columns)
        # A row ranks the blocks by a hash of (seed, row, column) and takes the first of those allowed.
        ticket = _hash(_hash(_hash(torch.full_like(r, seed)) + r) + c).masked_fill(
            ~allowed, torch.iinfo(torch.int64).max
        )
        rank = ticket.argsort(dim=-1).argsort(dim=-1)
        return ((rank < count) & allowed)[:, :columns]

    def visible(i: Tensor, j: Tensor, at: Where) -> Tensor:
        table = drawn(at.offset + at.queries, at.keys, i.device)
        r, c = i // block, j // block
        own = (r == c) & (j <= i) if causal else r == c
        return (own | table[r.clamp(min=0), c]) & (i >= 0)

    def bounds(rows: Spans, columns: Spans) -> tuple[Tensor, Tensor]:
        # A block of the engine covers a rectangle of ours, which need not be of its size.
        table = drawn(rows.stop, columns.stop, torch.device("cpu"))
        own = torch.eye(*table.shape, dtype=torch.bool)
        a, b = rows.first[:, None].clamp(min=0) // block, rows.last[:, None].clamp(min=0) // block
        c, d = columns.first // block, columns.last // block
        some = _count(table | own, a, b, c, d) > 0
        every = _count(table if causal else table | own, a, b, c, d) == (b - a + 1) * (d - c + 1)
        return some, every & (rows.first >= 0)[:, None]

    return Pattern(spell("random", count, seed=seed, block=block, causal=causal), visible, bounds)


def _count(table: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """How many entries are True in rows a..b and columns c..d, by differences of running sums."""
    sums = torch.zeros(table.shape[0] + 1, table.shape[1] + 1, dtype=torch.int64)
    sums[1:, 1:] = table.cumsum(0).cumsum(1)
    return sums[b + 1, d + 1] - sums[a, d + 1] - sums[b + 1, c] + sums[a, c]


def _hash(x: Tensor) -> Tensor:
    """splitmix64 (Steele, Lea, Flood 2014): integers that look random, the same on every machine."""
    x = x - 0x61C8864680B583EB
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15), (31, 1)):
        x = (x ^ (x >> shift & (1 << 64 - shift) - 1)) * factor  # cut off the sign that >> shifts in
    return x
