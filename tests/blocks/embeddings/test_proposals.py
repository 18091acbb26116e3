"""Proposals: their probabilities by hand, that draws follow them, and what cannot be drawn from."""

import math

import pytest
import torch

from cutaway.blocks import Proposal
from cutaway.blocks.embeddings.proposals import as_proposal


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("log_uniform", [math.log(2, 4), math.log(3 / 2, 4), math.log(4 / 3, 4)]),
        ("unigram", [8 / 10, 1 / 10, 1 / 10]),
    ],
)
def test_by_hand(name, expected):
    proposal = as_proposal(name, 3, counts=[16, 1, 1])
    assert proposal.log_q.exp().tolist() == pytest.approx(expected)
    assert proposal.log_probability(torch.tensor([[2, 0]])).exp().tolist()[0] == pytest.approx(expected[::-2])


def test_draws_follow_q():
    q = torch.tensor([0.5, 0.05, 0.25, 0.2])
    drawn = Proposal(q).draw(100, 1000, generator=torch.Generator().manual_seed(0))
    share = drawn.flatten().bincount(minlength=4) / 1e5
    assert (share - q).abs().max() < 5 * (0.25 / 1e5) ** 0.5  # five standard errors
    again = Proposal(q).draw(100, 1000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)


def test_every_class_of_many_can_come():
    weights = torch.ones(300_000, dtype=torch.float64)
    weights[0] = 1e12  # nearly all of it
    drawn = Proposal(weights).draw(1000, generator=torch.Generator().manual_seed(0))
    assert drawn.eq(0).sum() > 990
    one = Proposal(torch.ones(300_000)).draw(200_000)
    assert (int(one.min()), int(one.max())) == pytest.approx((0, 299_999), abs=30)


def test_adapts_and_keeps_its_digits_in_half_precision():
    proposal = Proposal(torch.ones(1000))
    proposal.set_weights(torch.arange(1, 1001))
    assert proposal.log_q.exp()[-1].item() == pytest.approx(1000 / 500_500)
    seeded = lambda p: p.draw(5000, generator=torch.Generator().manual_seed(0))
    before = seeded(proposal)
    assert torch.equal(before, seeded(proposal.bfloat16()))
    other = Proposal(torch.ones(1000))
    other.load_state_dict(proposal.state_dict())
    assert torch.equal(before, seeded(other))


def test_bad_weights():
    with pytest.raises(ValueError, match=r"must be 3 finite numbers above 0, got shape \(3,\) with 1 that are not; a"):
        Proposal(torch.tensor([1.0, 0.0, 2.0]))
    with pytest.raises(ValueError, match=r"must be 2 finite numbers above 0, got shape \(3,\) with others"):
        Proposal(torch.ones(2)).set_weights([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a unigram proposal needs counts, got none"):
        as_proposal("unigram", 3)
    with pytest.raises(ValueError, match="proposal must be one of uniform, log_uniform, unigram, got 'zipf'"):
        as_proposal("zipf", 3)
    with pytest.raises(ValueError, match="must be for the 3 classes of the layer, got 2"):
        as_proposal(torch.ones(2), 3)
