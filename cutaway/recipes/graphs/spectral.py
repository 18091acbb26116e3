r"""`spectral`: the class of a vertex, by filters on the spectrum of the graph's Laplacian."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.classified_vertices import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class SpectralRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class by filters on the graph's frequencies, the eigenvectors of its Laplacian.

    eigenvectors: a gain for each of the lowest frequencies; it is tied to this one graph. chebyshev: polynomials of the
    Laplacian, which need no eigenvectors and see a few edges far. Data as for gcn; undirected graphs.
    """

    name: ClassVar[str] = "spectral"
    quality: ClassVar[str] = (
        "Test accuracy on Cora's public split, mean of three seeds: chebyshev 82.1 % (published 79.5), 31 s of a core; "
        "eigenvectors 58.7 %, little more than features alone (56.6): 32 low frequencies tell little of a class. "
        "`python benchmarks/run.py graph_classes` measures it."
    )

    filters: Literal["eigenvectors", "chebyshev"] = setting("eigenvectors", FIRST)
    """a gain for each frequency, or polynomials of the Laplacian"""
    frequencies: int = setting(32, FIRST)
    """eigenvectors: how many of the lowest; at most as many as there are vertices"""
    rounds: int = 3
    """chebyshev: the number of terms; one less is how many edges far a filter sees"""
    width: int = setting(16, FIRST)
    """numbers that a vertex is described by between layers"""
    residual: bool = True
    """add what went into a layer to what comes out: the lowest frequencies alone would blur every vertex"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "rounds", "frequencies")
        self.expect_whole_graph("filters on the spectrum")

    def layer_name(self) -> str:
        return "chebyshev" if self.filters == "chebyshev" else "spectral"

    def eigenvectors_asked(self) -> int:
        return self.frequencies if self.filters == "eigenvectors" else 0
