"""`spectral`: filters on eigenvectors and by polynomials; tied to its graph."""

from pathlib import Path

import pytest
import torch
from graph_runs import train

import cutaway as cut
from cutaway.recipes.graphs.spectral import SpectralRecipe


@pytest.mark.parametrize("filters", ["eigenvectors", "chebyshev"])
def test_learns_the_clubs(filters: str, tmp_path: Path):
    run = train("spectral", data="karate-club", filters=filters, frequencies=6, steps=100, out=tmp_path / "run")
    assert run.test()["accuracy"] >= 0.7
    again = cut.load(tmp_path / "run")
    assert again.predict("all") == run.predict("all")
    if filters == "eigenvectors":
        q = run.model.eigenvectors
        assert q.shape == (34, 6)
        assert torch.allclose(q.T @ q, torch.eye(6), atol=1e-4)


def test_refuses_settings_that_cannot_be():
    with pytest.raises(ValueError, match=r"spectrum are of an undirected graph, got directed=True"):
        SpectralRecipe.make(directed=True)
    with pytest.raises(ValueError, match=r"see the whole graph, got neighbours='5,5'"):
        SpectralRecipe.make(neighbours="5,5")
