"""Heads that look at neighbours from the start: where they look, and that the design stays BERT's."""

import pytest
import torch

import cutaway as cut
from cutaway.blocks.positions.sinusoidal import sinusoids
from cutaway.models import BERT, BERTSpec, HeadSpec
from cutaway.tasks.texts.neighbour_heads import BASE, shift_matrix, start_nearby


def started(width: int = 128, heads: int = 4, depth: int = 2, head: HeadSpec | None = None) -> BERT:
    torch.manual_seed(0)
    sizes = dict(vocabulary=50, width=width, depth=depth, heads=heads, context=32)
    model = BERT(BERTSpec.bert(**sizes, head=head or HeadSpec("masked"))).eval()
    start_nearby(model)
    return model


@pytest.mark.parametrize("shift", [-3, 0, 1, 5])
def test_a_shift_is_a_rotation(shift: int):
    R = shift_matrix(shift, 12)
    torch.testing.assert_close(R @ R.T, torch.eye(12), atol=1e-6, rtol=0)
    P = sinusoids(torch.arange(20), 12, BASE)
    torch.testing.assert_close(P[5:15] @ R, P[5 + shift : 15 + shift], atol=1e-5, rtol=0)


@pytest.mark.parametrize(("width", "heads"), [(128, 4), (64, 4), (256, 8)])
def test_every_head_looks_at_its_own_neighbour(width: int, heads: int):
    model = started(width, heads)
    tokens = torch.randint(0, 50, (16, 32))
    with torch.no_grad(), cut.trace(model, "blocks.*.attention.weights") as seen:
        model(tokens)
    for address in seen:
        mean = seen[address].mean(0)
        for head in range(heads):
            shares = {s: torch.diagonal(mean[head], s).mean().item() for s in range(-8, 9)}
            shift = (head // 2 + 1) * (1 if head % 2 else -1)
            assert max(shares, key=shares.__getitem__) == shift, (address, head, shares)
            assert shares[shift] > 0.3  # of 32 places alike each would have 0.03


def test_left_to_chance_no_head_looks_anywhere():
    torch.manual_seed(0)
    sizes = dict(vocabulary=50, width=128, depth=2, heads=4, context=32)
    model = BERT(BERTSpec.bert(**sizes, head=HeadSpec("masked"))).eval()
    with torch.no_grad(), cut.trace(model, "blocks.0.attention.weights") as seen:
        model(torch.randint(0, 50, (16, 32)))
    assert seen["blocks.0.attention.weights"].mean(0).max() < 0.05


def test_first_guesses_are_even():
    """Scores of a fresh model are small: no token is far more probable than 1/50."""
    with torch.no_grad():
        p = started()(torch.randint(0, 50, (4, 32))).softmax(-1)
    assert p.max() < 0.3


def test_where_there_is_no_room_nothing_is_changed():
    torch.manual_seed(0)
    plain = BERT(BERTSpec.bert(vocabulary=50, width=2, depth=1, heads=1, context=8, head=HeadSpec("masked")))
    before = {name: p.clone() for name, p in plain.named_parameters()}
    start_nearby(plain)
    assert all(torch.equal(p, before[name]) for name, p in plain.named_parameters())
