"""`GraphRNN`: its probabilities add up to 1, and samples come as often as they say; padding and taps change nothing."""

import itertools

import pytest
import torch

from cutaway.inside.tracing import trace
from cutaway.models import GraphRNN, from_spec, spec_from_dict
from cutaway.models.graphs.graph_rnn import EDGES


def small(edges: str = "recurrent", **changes: int) -> GraphRNN:
    torch.manual_seed(0)
    sizes: dict[str, int] = dict(bandwidth=2, width=5, edge_width=3) | changes
    model = GraphRNN(edges=edges, **sizes).double()
    for parameter in model.parameters():  # far from even chances
        torch.nn.init.normal_(parameter, 0.0, 0.8)
    return model.requires_grad_(False)


def every_graph(n: int, bandwidth: int = 2) -> torch.Tensor:
    """The rows of all graphs of n vertices with an order."""
    places = [(i, k) for i in range(n) for k in range(min(i, bandwidth))]
    rows = torch.zeros(2 ** len(places), n, bandwidth, dtype=torch.float64)
    for g, bits in enumerate(itertools.product([0.0, 1.0], repeat=len(places))):
        for (i, k), bit in zip(places, bits, strict=True):
            rows[g, i, k] = bit
    return rows


@pytest.mark.parametrize("edges", EDGES)
def test_probabilities_add_up_to_1(edges: str):
    model, total = small(edges), 0.0
    for n in (1, 2):
        rows = every_graph(n)
        total += float(model(rows, torch.full((len(rows),), n)).exp().sum())
    rows, sizes = every_graph(3), torch.full((8,), 3)
    ends = 1 - model.logits(rows, sizes).more[:, -1].sigmoid()
    total += float((model(rows, sizes).exp() / ends).sum())  # three vertices, whatever comes after them
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("edges", EDGES)
def test_samples_come_as_often_as_their_probability_says(edges: str):
    model = small(edges)
    drawn = model.sample(4000, torch.Generator().manual_seed(1), largest=4)
    for rows in every_graph(3):
        p = float(model(rows[None], torch.tensor([3])).exp())
        share = sum(len(one) == 3 and torch.equal(one, rows.bool()) for one in drawn) / 4000
        assert abs(share - p) < 4 * (p * (1 - p) / 4000) ** 0.5 + 1e-3
    assert max(len(one) for one in drawn) == 4  # cut off there


@pytest.mark.parametrize("edges", EDGES)
def test_padding_changes_nothing(edges: str):
    model, rows = small(edges), every_graph(3)
    padded = torch.cat([rows, torch.ones(8, 2, 2, dtype=torch.float64)], 1)
    sizes = torch.full((8,), 3)
    assert torch.allclose(model(padded, sizes), model(rows, sizes), atol=1e-12)


def test_equals_a_graph_drawn_step_by_step():
    """The log probability of a path of three, from the cells one step at a time."""
    model = small()
    rows = torch.tensor([[[0.0, 0], [1, 0], [1, 0]]], dtype=torch.float64)
    state, total = None, torch.zeros(1, dtype=torch.float64)
    for i in range(3):
        h, state = model.recurrence.step(model.enter(rows[:, i]), state)
        more = model.read_more(h)[:, 0].sigmoid()
        if i == 2:
            total = total + (1 - more).log()
            break
        total = total + more.log()
        inner = model.row_recurrence.State(model.begin_row(h)[:, None, None])
        x = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
        for k in range(min(i + 1, 2)):
            g, inner = model.row_recurrence.step(x, inner)
            p, edge = model.read_edge(g)[:, 0].sigmoid(), rows[:, i + 1, k]
            total = total + (edge * p + (1 - edge) * (1 - p)).log()
            x = torch.stack([edge, torch.zeros_like(edge)], 1)
    assert torch.allclose(model(rows, torch.tensor([3])), total, atol=1e-12)


def test_taps_and_spec():
    model, rows = small(), every_graph(3)
    sizes = torch.full((8,), 3)
    with trace(model, "states", "more", "edges") as seen:
        found = model(rows, sizes)
    assert seen["states"].shape == (8, 3, 5)
    assert seen["edges"].shape == (8, 3, 2)
    assert torch.equal(found, model(rows, sizes))
    again = from_spec(spec_from_dict(model.spec.to_dict())).double()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(rows, sizes), found)
    assert [*map(len, again.sample(5, torch.Generator().manual_seed(0)))] == [
        *map(len, model.sample(5, torch.Generator().manual_seed(0)))
    ]


def test_mistakes():
    with pytest.raises(ValueError, match=r"bandwidth must be above 0, got 0"):
        GraphRNN(bandwidth=0)
    with pytest.raises(ValueError, match=r"edges must be one of .*, got 'all'"):
        GraphRNN(bandwidth=2, edges="all")
