"""Pictures of spectra and eigenvectors."""

import networkx
import numpy as np
import pytest

import cutaway as cut
from cutaway.look.graph_signals.spectra import eigenvector_picture, spectrum_picture


def test_the_spectrum_marks_its_step():
    picture = spectrum_picture([0.0, 0.01, 0.5, 0.6], clusters=2)
    assert picture.alt == "Eigenvalues from 0 to 0.6, 1 of 4 are 0."
    assert picture.caption == "After 2 eigenvalues comes a step of 0.49: the wider, the clearer the 2 clusters."
    assert ">2 clusters</text>" in picture.to_svg()
    unsure = spectrum_picture([0.0, 0.2], converged=[True, False])
    assert "not converged" in unsure.to_svg()


def test_eigenvectors_over_the_vertices():
    found = cut.data.eigenpairs(cut.data.as_graph(networkx.karate_club_graph()), 4)
    picture = eigenvector_picture(found.vectors, np.random.default_rng(0).random((34, 2)), values=found.values)
    assert picture.alt == "The first 4 eigenvectors of a graph of 34 vertices, as colours of the vertices."
    svg = picture.to_svg()
    assert "q1, λ = 0" in svg
    assert "q4, λ = " in svg


def test_mistakes():
    with pytest.raises(ValueError, match=r"values must hold at least one number, got shape \(0,\)"):
        spectrum_picture([])
    with pytest.raises(ValueError, match=r"places must have shape \(3, 2\), got \(2, 2\)"):
        eigenvector_picture(np.eye(3), np.zeros((2, 2)))
