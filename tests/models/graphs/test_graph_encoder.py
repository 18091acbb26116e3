"""The encoder of graphs: hidden vertices are not seen, and every purpose has its shape."""

import json

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models.by_spec import from_spec, spec_from_dict
from cutaway.models.graphs.graph_encoder import GraphEncoder, GraphEncoderSpec

EDGES = torch.tensor([[0, 1, 2, 3, 3], [1, 2, 3, 4, 0]])


def graph(seed: int = 0) -> Graph:
    return Graph(EDGES, 5, x=torch.randn(5, 3, generator=torch.Generator().manual_seed(seed)))


def encoder(**more: object) -> GraphEncoder:
    torch.manual_seed(0)
    return GraphEncoder(inputs=3, width=4, depth=2, **more).eval()


def test_what_is_hidden_is_not_seen():
    model, hidden = encoder(), torch.tensor([True, False, False, True, False])
    one, other = graph(), graph()
    other.x[hidden] = 7.0
    torch.testing.assert_close(model(one, hidden), model(other, hidden))
    other.x[1] = 7.0
    assert not torch.allclose(model(one, hidden), model(other, hidden))


def test_as_written_out():
    model, g, hidden = encoder(), graph(), torch.tensor([False, True, False, False, False])
    x = g.x @ model.enter.weight + model.enter.bias
    x = torch.where(hidden[:, None], model.hidden, x)
    for stage in model.stages:
        x = torch.relu(stage.layer(x, g))
    z = torch.where(hidden[:, None], torch.zeros(()), x)
    torch.testing.assert_close(model(g, hidden), model.decoder.layer(z, g))
    pairs = torch.tensor([[0, 2], [1, 4]])
    unit = x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
    want = 4 * ((unit[pairs[0]] * unit[pairs[1]]) @ model.pairs.weight)[:, 0] + model.pairs.bias  # 4: the width
    torch.testing.assert_close(want, 4 * (unit[pairs[0]] * unit[pairs[1]]).sum(1))  # at first, 4 times the cosine
    torch.testing.assert_close(model.score(x, pairs), want)


def test_every_purpose():
    assert encoder()(graph()).shape == (5, 3)
    assert encoder(purpose="vertices", outputs=6)(graph()).shape == (5, 6)
    both = Graph.batch([graph(0), graph(1)])
    assert encoder(purpose="graphs", task="regression", outputs=1)(both).shape == (2, 1)


def test_a_base_under_a_new_head_shares_its_body():
    base = encoder()
    tuned = base.with_purpose("vertices", "multi-class", 3)
    assert tuned.enter.weight is base.enter.weight or torch.equal(tuned.enter.weight, base.enter.weight)
    torch.testing.assert_close(tuned.encode(graph()), base.encode(graph()))
    assert torch.equal(tuned(graph()), torch.zeros(5, 3))  # a head begins at 0


def test_the_spec_goes_through_json():
    spec = GraphEncoderSpec(inputs=3, width=4, layer="gin", purpose="graphs", outputs=2)
    assert isinstance(from_spec(spec_from_dict(json.loads(json.dumps(spec.to_dict())))), GraphEncoder)
    with pytest.raises(ValueError, match="purpose must be one of restore, vertices, graphs, got 'edges'"):
        GraphEncoderSpec(inputs=3, purpose="edges")
