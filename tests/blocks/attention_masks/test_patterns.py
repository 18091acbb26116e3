"""Patterns by hand, against their definitions pair by pair, and by the laws of their algebra."""

import copy
import pickle
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.blocks.attention_masks.algebra import Spans
from cutaway.blocks.attention_masks.patterns import (
    Pattern,
    blocks,
    causal,
    dense_mask,
    dilated,
    global_tokens,
    padding,
    random,
    read_pattern,
    segments,
    window,
)

N = 13
IDS = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2], [5, 3, 3, 5, 5, 3, 1, 1, 1, 5, 5, 5, 0]])

# What each pattern means, pair by pair.
MEANING = {
    "causal()": lambda i, j: j <= i,
    "window(3)": lambda i, j: i - 2 <= j <= i,
    "window(3, causal=False)": lambda i, j: abs(i - j) < 3,
    "dilated(3, 4)": lambda i, j: j in (i, i - 4, i - 8),
    "dilated(2, 5, causal=False)": lambda i, j: j in (i, i - 5, i + 5),
    "prefix(6)": lambda i, j: j < 6 or j <= i,
    "global_tokens(2)": lambda i, j: i < 2 or j < 2,
    "blocks(5)": lambda i, j: i // 5 == j // 5,
}

# Patterns by their spelling: hypothesis wants strategies that run none of the code under test.
atoms = st.sampled_from(
    [
        *MEANING,
        "random(1, seed=3, block=4)",
        "random(2, block=3, causal=False)",
        "padding({})",
        "segments({})",
    ]
)
spellings = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("({0[0]} & {0[1]})".format),
        st.tuples(inner, inner).map("({0[0]} | {0[1]})".format),
        inner.map("~{}".format),
    ),
    max_leaves=4,
)


def build(spelling: str) -> Pattern:
    tensors = {"padding({})": torch.tensor([0, 7]), "segments({})": IDS}
    return read_pattern(spelling, [tensors[found] for found in re.findall(r"\w+\(\{\}\)", spelling)])


def same(p: torch.Tensor, q: torch.Tensor) -> bool:
    return torch.equal(*torch.broadcast_tensors(p, q))


@pytest.mark.parametrize("spelling", MEANING)
def test_every_pair(spelling: str):
    seen = read_pattern(spelling).dense(5, N, offset=N - 5)
    for i in range(5):
        for j in range(N):
            assert seen[i, j].item() == MEANING[spelling](i + N - 5, j)


def test_by_hand():
    pattern = causal() & (window(2) | global_tokens(1))
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    assert torch.equal(pattern.dense(4, 4), torch.tensor(expected).bool())


def test_padding_and_segments_differ_by_example():
    hidden = padding(torch.tensor([1, 3])).dense(2, 3)
    assert hidden.shape == (2, 1, 2, 3)
    assert hidden[:, 0].int().tolist() == [[[1, 0, 0]] * 2, [[1, 1, 1]] * 2]
    packed = (causal() & segments(torch.tensor([[0, 0, 1], [2, 3, 3]]))).dense(3, 3)
    assert packed.shape == (2, 1, 3, 3)
    assert packed[:, 0].int().tolist() == [[[1, 0, 0], [1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [0, 1, 1]]]


def test_masks_of_your_own():
    mask = torch.rand(2, 3, 4, 5) < 0.5
    assert torch.equal(dense_mask(mask).dense(4, 5, offset=1), mask)
    assert torch.equal(dense_mask(mask[0, 0]).dense(4, 5), mask[0, 0])
    both = dense_mask(mask) & padding(torch.tensor([1, 4]))
    assert torch.equal(both.dense(4, 5), mask & (torch.arange(5) < torch.tensor([1, 4])[:, None, None, None]))


@given(spellings, spellings)
@settings(max_examples=50)
def test_algebra_of_patterns_is_that_of_their_masks(left, right):
    p, q = build(left), build(right)
    a, b = p.dense(N, N), q.dense(N, N)
    assert same((p & q).dense(N, N), a & b)
    assert same((p | q).dense(N, N), a | b)
    assert same((~p).dense(N, N), ~a)


@given(spellings, st.integers(1, 6), st.integers(1, 6), st.integers(0, N - 1))
@settings(max_examples=80)
def test_bounds_are_never_wrong(spelling, height, width, offset):
    """A block with a visible pair has "some"; a block with "all" has no hidden pair."""
    p = build(spelling)
    rows, columns = Spans(offset, N, height), Spans(0, N, width)
    some, every = p.bounds(rows, columns)
    seen = p.dense(N - offset, N, offset)
    shape = (*p.lead, len(rows.first), len(columns.first))
    some, every = some.expand(shape), every.expand(shape)
    for r, (top, bottom) in enumerate(zip(rows.first - offset, rows.last - offset + 1)):
        for c, (left, right) in enumerate(zip(columns.first, columns.last + 1)):
            block = seen[..., top:bottom, left:right].flatten(-2)
            assert (some[..., r, c] | ~block.any(-1)).all()
            assert (~every[..., r, c] | block.all(-1)).all()


@given(spellings, st.integers(1, N))
@settings(max_examples=50)
def test_queries_behind_a_cache_see_what_they_would_without(spelling, queries):
    p = build(spelling)
    assert same(p.dense(queries, N, offset=N - queries), p.dense(N, N)[..., N - queries :, :])


def test_queries_before_the_first_key_see_no_past():
    for pattern in (causal(), window(2), segments(IDS[:1]), random(1, block=2)):
        assert not pattern.dense(3, 2, offset=-3).any()


@given(spellings)
@settings(max_examples=25)
def test_read_from_its_spelling(spelling):
    p = build(spelling)
    assert p.spelling == spelling.replace("random(2, block=3", "random(2, seed=0, block=3")
    for other in (read_pattern(p.spelling, p.tensors), pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert other == p
        assert hash(other) == hash(p)
        assert same(other.dense(N, N), p.dense(N, N))


def test_prints_as_it_was_written():
    pattern = causal() & ~(window(3, causal=False) | segments(IDS))
    assert repr(pattern) == "causal() & ~(window(3, causal=False) | segments(<2×13>))"
    assert repr(random(2, seed=1)) == "random(2, seed=1, block=64)"
    assert pattern != causal()
    assert segments(IDS) != segments(IDS + torch.eye(2, 13, dtype=torch.int64))


def test_only_patterns_are_read():
    with pytest.raises(
        ValueError, match=r"an expression combines blocks, causal, .* with &, \| and ~, got 'print\(1\)'"
    ):
        read_pattern("print(1)")
    with pytest.raises(ValueError, match="an expression combines"):
        read_pattern("causal().dense")


# ---------------------------------------------------------------------------------------------------------------------
# Cost.


def test_cost_by_hand():
    """Window 256 in blocks of 64: row r sees blocks r−4..r, so 1 + 2 + 3 + 4 blocks and then 5 in each of 124 rows."""
    cost = window(256).cost(8192)
    assert cost.entries == (1 + 2 + 3 + 4 + 124 * 5) * 64**2
    assert cost.dense == 8192**2
    assert cost.share == cost.entries / cost.dense
    assert causal().cost(10, block=4).entries == 4 * 4 + 4 * 8 + 2 * 10  # the last block is cut to the tokens


def test_cost_of_restricted_patterns_grows_with_the_tokens_and_not_their_square():
    for pattern in (window(100), dilated(5, 30), blocks(128), causal() & random(3), window(64) | global_tokens(4)):
        short, long = pattern.cost(2048), pattern.cost(4096)
        assert long.dense == 4 * short.dense
        assert long.entries < 2.4 * short.entries
    assert causal().cost(4096).entries > 3.9 * causal().cost(2048).entries


def test_cost_counts_every_example():
    ids = torch.arange(256) // torch.tensor([[64], [128]])  # four documents of a block, and two of two blocks
    cost = segments(ids).cost(256)
    assert cost.entries == (4 * 1 + 2 * 4) * 64**2
    assert cost.dense == 2 * 256**2


def test_a_complement_may_be_dense_and_says_so():
    assert (~window(64)).is_dense(4096)
    assert not window(64).is_dense(4096)
    assert not causal().is_dense(4096)
    assert window(64).is_dense(64)
    assert not (~~window(64)).is_dense(4096)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures.


# ---------------------------------------------------------------------------------------------------------------------
# Messages.


def test_bad_numbers():
    with pytest.raises(ValueError, match="size must be above 0, got 0; try size=1"):
        window(0)
    with pytest.raises(ValueError, match="step must be above 0, got -1; try step=1"):
        dilated(3, -1)
    with pytest.raises(ValueError, match="count must be above 0, got 0; try count=1"):
        random(0)


def test_patterns_of_different_batches():
    rule = r"must be for the same examples and heads, got \(2, 1\) in padding\(<2>\) and \(3, 1\) in segments\(<3×5>\)"
    with pytest.raises(ValueError, match=rule):
        padding(torch.tensor([1, 2])) & segments(torch.zeros(3, 5, dtype=torch.int64))


def test_tokens_without_a_segment():
    with pytest.raises(ValueError, match=r"number every token, got ids of shape \(2, 13\) for 14 tokens; with a cache"):
        segments(IDS).dense(1, 14, offset=13)
    with pytest.raises(ValueError, match=r"number every token, got ids of shape \(2, 13\) for 14 tokens; with a cache"):
        segments(IDS).cost(14)


def test_a_mask_of_another_size():
    with pytest.raises(ValueError, match=r"a mask of shape \(4, 5\) for 5 queries and 5 keys; cut it to fit"):
        dense_mask(torch.ones(4, 5, dtype=torch.bool)).dense(5, 5)


@pytest.mark.untyped
def test_bad_tensors():
    with pytest.raises(
        ValueError, match=r"integers of shape \(examples,\), got torch.bool of shape \(2, 3\); for a padd"
    ):
        padding(torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(
        ValueError, match=r"\(examples, tokens\), got torch.int64 of shape \(13,\); give each token .* ids"
    ):
        segments(IDS[0])
    with pytest.raises(
        ValueError, match=r"mask must be boolean, .* got torch.float32 of shape \(4, 4\); try mask.bool"
    ):
        dense_mask(torch.ones(4, 4))
    with pytest.raises(ValueError, match=r"a pattern combines with patterns, got Tensor; wrap a mask in dense_mask"):
        causal() & torch.ones(4, 4, dtype=torch.bool)
