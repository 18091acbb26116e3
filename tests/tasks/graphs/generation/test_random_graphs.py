"""Rules without a network: probabilities by hand, those of all graphs add up to 1, samples as dense as training."""

import itertools
import math

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.generation.random_graphs import by_distance, erdos_renyi
from cutaway.tasks.graphs.generation.sequences import GraphSequences

PATH = Graph(torch.tensor([[0, 1], [1, 2]]), 3)


def test_erdos_renyi_by_hand():
    rule = erdos_renyi([PATH, PATH])
    p = 4.5 / 7  # 4 edges of 6 pairs, and half an edge more and less
    rows = torch.tensor([[[0.0, 0], [1, 0], [1, 0]]])
    found = rule.log_probability(GraphSequences(rows, torch.tensor([3])))
    q = 1 / 3
    size = (2 + q * (1 - q) ** 2) / 3
    assert found.item() == pytest.approx(2 * math.log(p) + math.log(1 - p) + math.log(size), abs=1e-6)


@pytest.mark.parametrize("make", [erdos_renyi, by_distance])
def test_probabilities_add_up_to_1(make):
    rule = make([PATH, Graph(torch.tensor([[0], [1]]), 2)])
    total = 0.0
    for bits in itertools.product([0.0, 1.0], repeat=3):
        rows = torch.tensor([[[0.0, 0], [bits[0], 0], [bits[1], bits[2]]]])
        total += rule.log_probability(GraphSequences(rows, torch.tensor([3]))).exp().item()
    assert total == pytest.approx(rule.log_size(torch.tensor([3])).exp().item(), abs=1e-6)
    assert rule.log_size(torch.arange(1, 400)).exp().sum().item() == pytest.approx(1, abs=1e-6)


def test_samples_are_as_dense_as_training():
    sparse = erdos_renyi([PATH]).sample(300, torch.Generator().manual_seed(0))
    assert {graph.vertices for graph in sparse} == {3}
    share = sum(graph.edges.shape[1] for graph in sparse) / 900
    assert share == pytest.approx(2.5 / 4, abs=0.05)


def test_larger_graphs_than_in_training():
    rows = torch.zeros(1, 6, 2)
    found = by_distance([PATH]).log_probability(GraphSequences(rows, torch.tensor([6])))
    assert torch.isfinite(found).all()
