"""`graph-transformer`: along edges and between all pairs."""

from pathlib import Path

import pytest
import torch
from graph_runs import train

import cutaway as cut
from cutaway.recipes.graphs.graph_transformer import GraphTransformerRecipe
from cutaway.tasks.subjects import subject_of


@pytest.mark.parametrize("scope", ["edges", "pairs"])
def test_learns_the_clubs(scope: str, tmp_path: Path):
    # Between all pairs edges do not matter: the eigenvectors alone tell a vertex where it stands.
    settings = dict(scope=scope, width=16, dropout=0.2, frequencies=0 if scope == "edges" else 3, rate=5e-3, steps=60)
    run = train("graph-transformer", data="karate-club", **settings, out=tmp_path / "run")
    losses = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert min(losses) < 0.9 * losses[0]
    graph = subject_of(run).arguments[0]
    if scope == "edges":
        assert run.test()["accuracy"] >= 0.7
        with cut.trace(run.model, *run.model.edge_attention) as seen:
            run.model(graph)
        arcs = run.model.stages[0].layer.wired(graph).arcs
        first = seen["stages.0.layer.attention.attention"]
        sums = torch.zeros(graph.vertices, 4).index_add(0, arcs[1], first)
        assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def test_places_in_the_eigenvectors_are_added_with_signs_at_random(tmp_path: Path):
    settings = dict(data="karate-club", width=16, dropout=0.0, attention_dropout=0.0, walks=0, frequencies=5, steps=40)
    run = train("graph-transformer", **settings, out=tmp_path / "run")
    model, graph = run.model, subject_of(run).arguments[0]
    assert model.eigenvectors.shape == (34, 5)
    start = GraphTransformerRecipe.make(**settings).build(run.recipe.dataset(run), graph)
    assert not start.places.map.weight.any()  # features speak first
    plain = model(graph)
    assert torch.equal(plain, cut.load(tmp_path / "run").model(graph))
    model.eigenvectors.zero_()
    assert not torch.allclose(plain, model(graph), atol=1e-3)  # they matter
    again = cut.load(tmp_path / "run").model.train()
    assert len({again(graph).sum().item() for _ in range(8)}) > 1  # a sign means nothing: each pass draws its own


def test_refuses_settings_that_cannot_be():
    with pytest.raises(ValueError, match=r"eigenvectors of the Laplacian see the whole graph, got neighbours='5,5'"):
        GraphTransformerRecipe.make(frequencies=4, neighbours="5,5")
    with pytest.raises(ValueError, match=r"width must be a multiple of heads, got width=10, heads=4"):
        GraphTransformerRecipe.make(width=10)
