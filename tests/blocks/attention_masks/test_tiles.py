"""Layouts: their tiles are the mask again, nothing is looked at twice, and the cache keeps little."""

import pytest
import torch

from cutaway.blocks.attention_masks import tiles as layouts
from cutaway.blocks.attention_masks.patterns import (
    Pattern,
    blocks,
    causal,
    dense_mask,
    dilated,
    global_tokens,
    padding,
    prefix,
    random,
    segments,
    window,
)
from cutaway.blocks.attention_masks.tiles import compile_layout, find_layout


def rebuild(pattern: Pattern, queries: int, keys: int, block: int) -> torch.Tensor:
    """The mask, from the tiles alone: which queries reach which keys, through the views that the engine uses."""
    layout = compile_layout(pattern, queries, keys, keys - queries, block)
    seen = torch.zeros(len(layout.tiles), queries, keys, dtype=torch.bool)
    place = torch.arange(float(queries))[None, :, None], torch.arange(float(keys))[None, :, None]
    for example, tiles in zip(seen, layout.tiles):
        for tile in tiles:
            i, j = tile.queries(place[0]).long(), tile.keys(place[1]).long().mT
            bias = layout.bias(tile, torch.float32)
            visible = torch.ones(1, 1, 1, 1, dtype=torch.bool) if bias is None else bias == 0
            i, j, visible = torch.broadcast_tensors(i, j, visible)
            assert not example[i[visible], j[visible]].any(), "a pair in two tiles"
            example[i[visible], j[visible]] = True
    return seen


MASK = torch.rand(2, 3, 21, 27, generator=torch.Generator().manual_seed(1)) < 0.1
MASK[0, 0, 4:8] = False  # a row of blocks without keys, between two that have some
MASK[0, 0, :4] = MASK[0, 0, 8:12] = True


@pytest.mark.parametrize(
    "pattern",
    [
        causal(),
        window(9),
        window(6, causal=False),
        dilated(3, 5),
        prefix(11),
        global_tokens(3),
        blocks(8),
        blocks(3),
        random(2, block=4),
        random(1, block=3, causal=False),
        window(4) | global_tokens(1) | random(1, block=4),
        ~window(9),
        padding(torch.tensor([0, 27, 9])),
        causal() & segments(torch.arange(27) // torch.tensor([[5], [12]])),
        dense_mask(MASK),
        dense_mask(MASK[0, 0]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("block", [1, 4, 8, 64])
def test_tiles_are_the_mask_again(pattern, block):
    expected = pattern.dense(21, 27, offset=6)
    assert torch.equal(rebuild(pattern, 21, 27, block), expected.reshape(-1, 21, 27))


def test_rows_of_a_window_share_their_keys_without_a_copy():
    layout = compile_layout(window(9), 64, 64, 0, 4)
    x = torch.randn(2, 64, 5)
    moving = [tile for tile in layout.tiles[0] if tile.count > 1]
    assert sum(tile.stop - tile.start for tile in moving) >= 48
    for tile in moving:
        assert tile.keys(x).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert len(tile.masks) == 1
    # Two partial blocks, at the edge of the window and on the diagonal, whatever the length; one full, one empty.
    assert len(layout.masks) == 4


def test_rows_that_see_the_same_keys_are_one_tile():
    (tiles,) = compile_layout(blocks(16), 64, 64, 0, 4).tiles
    assert [(tile.start, tile.stop, tile.runs) for tile in tiles] == [
        (start, start + 16, ((start, start + 16),)) for start in range(0, 64, 16)
    ]


def test_few_queries_make_low_tiles():
    """Decoding: a single query is not padded to a block."""
    (tiles,) = compile_layout(window(5), 1, 64, 63, 4).tiles
    assert [(tile.start, tile.stop, tile.runs) for tile in tiles] == [(0, 1, ((56, 64),))]


def test_pairs_are_looked_at_only_where_the_bounds_leave_it_open(monkeypatch):
    looked = []
    pattern = window(8)

    def visible(i, j, at):
        seen = pattern.visible(i, j, at)
        looked.append(seen.numel())
        return seen

    spy = Pattern("window(8)", visible, pattern.bounds)
    compile_layout(spy, 64, 64, 0, 4)
    short = sum(looked)
    looked.clear()
    compile_layout(spy, 128, 128, 0, 4)
    assert short <= 64 * 8  # two partial blocks of 4 × 4 in each of 16 rows
    assert sum(looked) <= 2.2 * short


def test_looking_in_chunks(monkeypatch):
    pattern = dense_mask(MASK)
    whole = compile_layout(pattern, 21, 27, 6, 4)
    monkeypatch.setattr(layouts, "LOOKED", 7)
    parts = compile_layout(pattern, 21, 27, 6, 4)
    assert torch.equal(whole.masks, parts.masks)
    assert [[tile.masks for tile in tiles] for tiles in whole.tiles] == [
        [tile.masks for tile in tiles] for tiles in parts.tiles
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The cache.


def test_cache_knows_patterns_by_what_they_say():
    ids = torch.tensor([[0, 0, 1, 1]])
    first = find_layout("segments({})", [ids], 4, 4, 0, 2)
    assert find_layout("segments({})", [ids.clone()], 4, 4, 0, 2) is first
    assert find_layout("segments({})", [ids], 4, 4, 0, 1) is not first
    ids[0, 1] = 1  # changed in place: another pattern
    second = find_layout("segments({})", [ids], 4, 4, 0, 2)
    assert second.entries != first.entries or not torch.equal(second.masks, first.masks)


def test_cache_is_bounded_and_drops_what_was_not_used_longest():
    kept = find_layout("window(3)", [], 8, 8, 0, 4)
    for size in range(1, 3 * layouts.KEPT):
        find_layout(f"window({size})", [], 9, 9, 0, 4)
        assert find_layout("window(3)", [], 8, 8, 0, 4) is kept
        assert len(layouts._cache) <= layouts.KEPT
    gone = find_layout("window(1)", [], 9, 9, 0, 4)
    assert find_layout("window(1)", [], 9, 9, 0, 4) is gone
