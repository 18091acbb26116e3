"""The predictor of graphs: by its equation, each graph as if it were alone, whatever the order of its vertices."""

import pytest
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models import GraphPredictor, from_spec, spec_from_dict


def some_graphs(seed: int = 0, features: int = 0) -> list[Graph]:
    torch.manual_seed(seed)
    ring = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    path = torch.tensor([[0, 1], [1, 2]])
    return [
        Graph(edges, n, x=torch.randn(n, 3), edge_features=torch.randn(edges.shape[1], features) if features else None)
        for edges, n in ((ring, 5), (path, 3), (torch.empty(2, 0, dtype=torch.int64), 1))
    ]


def small(**changes: object) -> GraphPredictor:
    torch.manual_seed(1)
    sizes: dict[str, object] = dict(task="multi-class", outputs=3, inputs=3, layer="gin", width=4, norm="batch")
    return GraphPredictor(**sizes | changes).eval()


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "attention", "global"])
@pytest.mark.parametrize("layer", ["gin", "gcn", "gat"])
def test_each_graph_as_if_it_were_alone(readout: str, layer: str):
    model, graphs = small(readout=readout, layer=layer), some_graphs()
    together = model(Graph.batch(graphs))
    assert together.shape == (3, 3)
    assert torch.allclose(together, torch.cat([model(graph) for graph in graphs]), atol=1e-5)


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "attention", "global"])
def test_the_order_of_vertices_does_not_matter(readout: str):
    model, graph = small(readout=readout, edge_inputs=2), some_graphs(features=2)[0]
    assert torch.allclose(model(graph.permuted(torch.randperm(5))), model(graph), atol=1e-5)


def test_by_hand_without_jumping():
    model, graph = small(jumping=False), some_graphs()[0]
    x = graph.x
    for stage in model.stages:
        x = stage(x, graph)
    assert torch.allclose(model(graph)[0], model.head(model.hidden(x.sum(0))), atol=1e-5)


def test_features_of_edges_count():
    model, graph = small(edge_inputs=2), some_graphs(features=2)[0]
    other = Graph(graph.edges, x=graph.x, edge_features=graph.edge_features + 1)
    assert not torch.allclose(model(graph), model(other))


def test_values_and_back_from_the_spec():
    model = small(task="regression", outputs=1, readout="attention")
    again = from_spec(spec_from_dict(model.spec.to_dict())).eval()
    again.load_state_dict(model.state_dict())
    batch = Graph.batch(some_graphs())
    assert torch.equal(again(batch), model(batch))
    assert model(batch).shape == (3, 1)


def test_unknown_readout():
    with pytest.raises(ValueError, match=r"readout must be one of sum, mean, max, global, attention, got 'median'"):
        small(readout="median")


@pytest.mark.parametrize("layer", ["gin", "gcn", "gat"])
def test_pooling_by_clusters(layer: str):
    """Half of the stages see pairs of neighbours; each graph as if it were alone; gradients reach all."""
    told = 2 if layer == "gin" else 0
    model, graphs = small(pooling="clusters", layer=layer, edge_inputs=told), some_graphs(features=told)
    states = model.states_and_graphs(graphs[0])
    assert [(len(x), over.vertices) for x, over in states] == [(5, 5), (3, 3)]
    together = model(Graph.batch(graphs))
    assert torch.allclose(together, torch.cat([model(graph) for graph in graphs]), atol=1e-5)
    together.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_the_global_vertex_by_hand():
    model, graph = small(readout="global", jumping=False), some_graphs()[1]
    spokes = torch.tensor([[0, 1, 2], [3, 3, 3]])
    x = torch.cat([graph.x, torch.zeros(1, 3)])
    whole = Graph(torch.cat([graph.edges, spokes], 1), 4)
    for stage in model.stages:
        x = stage(x, whole)
    assert torch.allclose(model(graph), model.head(model.hidden(model.norm(x[3:]))), atol=1e-5)


def test_pooling_needs_layers():
    with pytest.raises(ValueError, match=r"needs two layers and a readout of all vertices, got depth=1"):
        small(pooling="clusters", depth=1)
    with pytest.raises(ValueError, match=r"pooling must be one of none, clusters, got 'top'"):
        small(pooling="top")
