"""The layers by name: features and weights of edges either change what comes out, or are refused."""

from typing import Any

import pytest
import torch

import cutaway as cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.models.graphs.layer_kinds import LAYERS
from cutaway.registry import entries

READ = [name for name, kind in LAYERS.items() if kind.reads_edges]
UNREAD = [name for name in LAYERS if name not in READ]


def some_graph(**changes: Any) -> Graph:
    """Seven vertices, one alone, with a self-loop, an edge that is there twice, weights and two features of edges."""
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3, 4, 0, 0], [1, 2, 0, 4, 4, 3, 1]])
    parts = dict(weights=torch.rand(7) + 0.5, x=torch.randn(7, 5), edge_features=torch.randn(7, 2))
    return Graph(edges, 7, **(parts | changes))


def model_of(layer: str, **changes: Any) -> cut.models.VertexClassifier:
    torch.manual_seed(1)
    sizes: dict[str, Any] = dict(inputs=5, classes=3, layer=layer, width=6, heads=2)
    if LAYERS[layer].belongs_to_a_graph:
        sizes |= dict(frequencies=3, graph_size=7)
    return cut.models.VertexClassifier(**sizes | changes).eval()


def test_layers_that_read_edges():
    assert READ == ["gat", "gatv2", "gin", "gated", "fixed-point", "transformer"]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_of_edges_count_or_are_refused(layer: str, directed: bool, dtype: torch.dtype):
    graph = some_graph(directed=directed and layer != "chebyshev", weights=None).to(dtype)
    other = graph.but(edge_features=graph.edge_features + 1)
    if layer in UNREAD:
        with pytest.raises(ValueError, match=rf"layer='{layer}' reads no features of edges, got edge_inputs=2; leave"):
            model_of(layer, edge_inputs=2)
        with pytest.raises(ValueError, match="reads no features of edges, got a graph with 2 of every edge"):
            model_of(layer).to(dtype)(graph)
        return
    model = model_of(layer, edge_inputs=2).to(dtype)
    assert not torch.allclose(model(graph), model(other), atol=1e-4)
    both = Graph.batch([graph, other])
    torch.testing.assert_close(model(both), torch.cat([model(graph), model(other)]), atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match=r"built for edges without features, got a graph with 2 .*edge_inputs=2"):
        model_of(layer).to(dtype)(graph)
    with pytest.raises(ValueError, match="got a graph without edge_features"):
        model(graph.without_edge_features())


@pytest.mark.parametrize("layer", LAYERS)
def test_weights_of_edges_count(layer: str):
    """By themselves, or as a feature; attention between all pairs sees no edge, and spectral layers eigenvectors."""
    graph = some_graph(edge_features=None)
    other = graph.but(weights=graph.weights * torch.tensor([1.0, 3, 1, 1, 1, 1, 2]))
    kind = LAYERS[layer]
    settings = {} if kind.weighs else dict(edge_inputs=1, weight_scale=0.5)
    if layer in ("all-pairs", "spectral"):
        assert torch.equal(model_of(layer)(graph), model_of(layer)(other))
        return
    model = model_of(layer, **settings)
    assert not torch.allclose(model(graph), model(other), atol=1e-4)
    bare = graph.but(weights=None)  # edges of a graph without weights weigh 1
    torch.testing.assert_close(model(bare), model(graph.but(weights=torch.ones(7))))


@pytest.mark.parametrize(("layer", "inputs"), [("gat", 0), ("gat", 2), ("gatv2", 0), ("transformer", 0), ("gin", 2)])
def test_weights_that_would_be_ignored_are_refused(layer: str, inputs: int):
    """Messages of attention, and of GIN with features of edges, are not multiplied by weights."""
    graph = some_graph() if inputs else some_graph(edge_features=None)
    message = rf"layer='{layer}' does not .* got a graph with weights; build it with edge_inputs={inputs + 1}, weight_"
    with pytest.raises(ValueError, match=message):
        model_of(layer, edge_inputs=inputs)(graph)
    model_of(layer, edge_inputs=inputs)(graph.but(weights=None))
    model_of(layer, edge_inputs=inputs + 1, weight_scale=1.0)(graph)
    stored = model_of(layer, edge_inputs=inputs).spec.to_dict()  # by versions that did not read them
    del stored["ignores_edges"]
    cut.models.from_spec(cut.models.spec_from_dict(stored)).eval()(graph)


def test_the_weight_is_the_last_feature_as_of_torch_geometric():
    """GATConv with the weights as edge_attr, beside the features."""
    import torch_geometric.nn

    graph = some_graph()
    model = model_of("gat", depth=1, edge_inputs=3, weight_scale=2.0)
    layer = model.stages[0].layer
    peer = torch_geometric.nn.GATConv(5, 3, edge_dim=3)
    with torch.no_grad():
        peer.lin.weight.copy_(layer.map.weight.T)
        peer.lin_edge.weight.copy_(layer.map_edges.weight.T)
        for name, ours in (("att_src", layer.source), ("att_dst", layer.target), ("att_edge", layer.edge)):
            getattr(peer, name).copy_(ours[None])
    told = torch.cat([graph.edge_features, graph.weights[:, None] / 2], 1)[graph.arc_edges]
    torch.testing.assert_close(model(graph), peer(graph.x, graph.arcs, told))


@pytest.mark.parametrize("layer", ["gcn", "gated", "spectral"])
def test_models_stored_before_leave_features_out(layer: str):
    """Their specs do not say it: they had been trained without."""
    model, graph = model_of(layer), some_graph()
    stored = model.spec.to_dict()
    for name in ("ignores_edges", "weight_scale"):
        del stored[name]
    again = cut.models.from_spec(cut.models.spec_from_dict(stored)).eval()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(graph), model(graph.without_edge_features()))
    assert type(again.spec).from_dict(again.spec.to_dict()) == again.spec


def test_settings_that_contradict_each_other():
    with pytest.raises(ValueError, match=r"got weight_scale=2 with edge_inputs=0; set edge_inputs=1"):
        model_of("gat", weight_scale=2.0)
    with pytest.raises(ValueError, match="must be 0 or more, got -1 and 0"):
        model_of("gat", edge_inputs=-1)


GRAPH_LAYERS = [entry for entry in entries() if "graph_layers" in entry.target.__module__ and entry.name[0].isupper()]


@pytest.mark.parametrize("entry", GRAPH_LAYERS, ids=lambda entry: entry.name)
def test_no_block_leaves_features_of_edges_out_unsaid(entry: Any):
    """Of every registered layer that is given a graph."""
    layer, x, *rest = entry.example()
    if not rest or not isinstance(rest[0], Graph):
        return  # eigenvectors in place of a graph, or an encoding of walks, which reads no features
    if entry.name in ("LaplacianEncoding", "AttentionReadout"):
        return  # they look at which vertices belong together, at no edge
    graph = rest[0]
    told = torch.randn(graph.edges.shape[1], 2)
    if getattr(layer, "map_edges", None) is None and not getattr(layer, "edge_inputs", None):
        with pytest.raises(ValueError, match=r"features.* leave them out: graph\.without_edge_features\(\)"):
            layer(x, graph.but(edge_features=told))
        return
    one, other = (layer.eval()(x, graph.but(edge_features=f)) for f in (told, told + 1))
    assert not torch.allclose(one, other)


def test_features_of_edges_are_put_on_the_scale_of_training():
    graph = some_graph(weights=None)
    model = model_of("gated", edge_inputs=2, edge_mean=(2000.0, 0.0), edge_std=(10.0, 1.0))
    plain = model_of("gated", edge_inputs=2)
    years = graph.but(edge_features=graph.edge_features * torch.tensor([10.0, 1.0]) + torch.tensor([2000.0, 0.0]))
    torch.testing.assert_close(model(years), plain(graph), atol=1e-4, rtol=1e-4)  # eps · 2000 / 10 of a feature
    with pytest.raises(ValueError, match=r"each of the 2 features of edges .*, got 1 and 1; leave both out"):
        model_of("gated", edge_inputs=2, edge_mean=(1.0,), edge_std=(1.0,))
    with pytest.raises(ValueError, match="no deviation 0"):
        model_of("gated", edge_inputs=1, edge_mean=(1.0,), edge_std=(0.0,))
