"""Scores of pairs: by their equations, either way round, and with friends and foes apart."""

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models import LinkScorer, from_spec, spec_from_dict
from cutaway.models.graphs.link_scorer import kind_parts, signed_parts

PAIRS = torch.tensor([[0, 1, 2], [2, 3, 0]])


def graph(weights: list[float] | None = None) -> Graph:
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    return Graph(edges, x=torch.randn(5, 3), weights=None if weights is None else torch.tensor(weights))


def test_dot_by_hand():
    model = LinkScorer(inputs=3, width=4, decoder="dot").eval()
    h = model.states(graph())
    expected = torch.stack([h[u] @ h[v] for u, v in PAIRS.T]) + model.bias
    assert torch.allclose(model(graph(), PAIRS), expected)


@pytest.mark.parametrize(("decoder", "same"), [("dot", True), ("mlp", True), ("ordered", False)])
def test_whether_the_way_round_matters(decoder: str, same: bool):
    model = LinkScorer(inputs=3, width=4, decoder=decoder).eval()
    there, back = model(graph(), PAIRS), model(graph(), PAIRS.flip(0))
    assert torch.allclose(there, back) == same


def test_friends_and_foes_have_stages_of_their_own():
    model = LinkScorer(inputs=3, width=4, signed=True).eval()
    g = graph([1.0, -1.0, 2.0, -0.5])
    friends, foes = signed_parts(g)
    assert friends.edges.tolist() == [[0, 2], [1, 3]]
    assert foes.edges.tolist() == [[1, 3], [2, 4]]
    assert foes.weights.tolist() == [1.0, 0.5]
    h = model.states(g)
    assert h.shape == (5, 8)
    turned = model.states(graph([-1.0, 1.0, -2.0, 0.5]))
    assert not torch.allclose(h, turned)
    with pytest.raises(ValueError, match="needs their weights, got none"):
        model(graph(), PAIRS)


def test_back_from_its_spec():
    model = LinkScorer(inputs=3, width=4, layer="gat", heads=2, signed=True, edge_inputs=1, weight_scale=1.0).eval()
    again = from_spec(spec_from_dict(model.spec.to_dict())).eval()
    again.load_state_dict(model.state_dict())
    g = graph([1.0, -1.0, 2.0, -0.5])
    assert torch.equal(again(g, PAIRS), model(g, PAIRS))


def test_unknown_decoder():
    with pytest.raises(ValueError, match=r"decoder must be one of dot, mlp, ordered, got 'cosine'"):
        LinkScorer(inputs=3, decoder="cosine")


def kinds() -> Graph:
    g = graph()
    return Graph(g.edges, x=g.x, edge_features=torch.eye(3)[[0, 2, 1, 2]])


@pytest.mark.parametrize("decoder", ["dot", "mlp", "ordered"])
def test_a_score_for_each_kind_of_edge(decoder: str):
    model = LinkScorer(inputs=3, width=4, decoder=decoder, kinds=3, outputs=3).eval()
    first, second, third = kind_parts(kinds(), 3)
    assert [part.edges.tolist() for part in (first, second, third)] == [[[0], [1]], [[2], [3]], [[1, 3], [2, 4]]]
    h = model.states(kinds())
    assert h.shape == (5, 12)
    scores = model(kinds(), PAIRS)
    assert scores.shape == (3, 3)
    if decoder == "dot":
        expected = torch.stack([(h[u] * h[v] * model.diagonals).sum(-1) for u, v in PAIRS.T]) + model.bias
        assert torch.allclose(scores, expected, atol=1e-6)
    scores.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    again = from_spec(spec_from_dict(model.spec.to_dict())).eval()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(kinds(), PAIRS), scores)


def test_kinds_need_their_features():
    with pytest.raises(ValueError, match=r"a model of 3 kinds of edges needs as many edge features, got none"):
        LinkScorer(inputs=3, kinds=3)(graph(), PAIRS)
    with pytest.raises(ValueError, match=r"two kinds or more, or signs, got kinds=3, signed=True"):
        LinkScorer(inputs=3, kinds=3, signed=True)
