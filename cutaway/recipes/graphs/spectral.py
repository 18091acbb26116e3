r"""`spectral`: the class of a vertex, by filters on the spectrum of the graph's Laplacian."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.vertex_settings import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class SpectralRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class by filters on the graph's frequencies, the eigenvectors of its Laplacian.

    chebyshev: polynomials of the Laplacian, which need no eigenvectors and see a few edges far. eigenvectors: a gain
    for each of the lowest frequencies; it is tied to this one graph. Data as for gcn; undirected graphs.
    """

    name: ClassVar[str] = "spectral"
    quality: ClassVar[str] = (
        "Test accuracy on Cora's public split, mean of three seeds: 82.1 % (published 79.5, label propagation "
        "71.3), 2 s to train. Of the validation vertices eigenvectors get 76.0 % right with 256 frequencies, 73.2 with "
        "128 and 59.2 with 32, one seed. `python benchmarks/run.py graph_classes` measures it. Values: fine dust of "
        "days in Beijing, RMSE 51.6 (ridge regression without edges 55.8), three seeds of `… graph_values`."
    )

    filters: Literal["chebyshev", "eigenvectors"] = setting("chebyshev", FIRST)
    """polynomials of the Laplacian, or a gain for each frequency"""
    frequencies: int = setting(256, FIRST)
    """eigenvectors: how many of the lowest; at most as many as there are vertices"""
    rounds: int = 3
    """chebyshev: the number of terms; one less is how many edges far a filter sees"""
    width: int = setting(16, FIRST)
    """numbers that a vertex is described by between layers"""
    residual: bool = True
    """add what went into a layer to what comes out: the lowest frequencies alone would blur every vertex"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "rounds", "frequencies")
        self.expect_whole_graph("filters on the spectrum")

    @override
    def layer_name(self) -> str:
        return "chebyshev" if self.filters == "chebyshev" else "spectral"

    @override
    def eigenvectors_asked(self) -> int:
        return self.frequencies if self.filters == "eigenvectors" else 0
