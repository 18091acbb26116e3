"""Random blocks: whole ones, decided by the seed alone, drawn evenly."""

import torch

from cutaway.blocks.attention_masks.patterns import (
    random,
)


def test_random_draws_whole_blocks():
    drawn = random(2, seed=5, block=4).dense(40, 40).view(10, 4, 10, 4)
    own = torch.eye(10, dtype=torch.bool)
    counts = drawn.all(3).all(1).sum(-1)  # full blocks: those drawn, all earlier than their row
    assert counts.tolist() == [0, 1] + [2] * 8
    assert torch.equal(drawn.any(3).any(1).sum(-1), counts + 1)
    assert torch.equal(drawn.permute(0, 2, 1, 3)[own], torch.ones(4, 4).tril().bool().expand(10, 4, 4))
    both_ways = random(2, seed=5, block=4, causal=False).dense(40, 40).view(10, 4, 10, 4)
    assert torch.equal(both_ways.all(3).all(1).sum(-1), torch.full((10,), 3))
    assert both_ways.permute(0, 2, 1, 3)[own].all()


def test_random_is_decided_by_its_seed_and_not_by_what_follows():
    long = random(2, seed=7, block=4).dense(80, 80)
    assert torch.equal(random(2, seed=7, block=4).dense(30, 30), long[:30, :30])
    assert not torch.equal(random(2, seed=8, block=4).dense(80, 80), long)


def test_random_draws_evenly():
    """1100 draws of 1 out of 11: every block has 100 on average, with a standard deviation of √(100 · 10/11) ≈ 9.5."""
    counts = random(1, block=1, causal=False).dense(1111, 11)[11:].sum(0)
    assert counts.sum() == 1100
    assert (counts - 100).abs().max() < 4 * 9.5
