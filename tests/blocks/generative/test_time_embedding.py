"""The time embedding: its clock is that of sinusoidal positions, and levels can be told apart."""

import pytest
import torch

from cutaway.blocks import TimeEmbedding, sinusoids
from cutaway.inside.tracing import trace


def test_the_clock_is_that_of_positions():
    embedding = TimeEmbedding(6, 8)
    with trace(embedding, "clock") as seen:
        embedding(torch.tensor([0.0, 0.25, 1.0]))
    torch.testing.assert_close(seen["clock"], sinusoids(torch.tensor([0.0, 250.0, 1000.0]), 8))


def test_every_level_has_a_vector_of_its_own():
    torch.manual_seed(0)
    vectors = TimeEmbedding(16)(torch.arange(0, 1001) / 1000)
    apart = torch.cdist(vectors, vectors) + torch.eye(1001) * 9
    assert apart.min() > 1e-4


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="clock_width must be even, got 7; try clock_width=8"):
        TimeEmbedding(6, 7)
