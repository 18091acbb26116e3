r"""`spectral`: the class of a vertex, by filters on the spectrum of the graph's Laplacian."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.classified_vertices import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting

if TYPE_CHECKING:
    from torch import nn

    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData


@dataclass(frozen=True)
class SpectralRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class by filters on the graph's frequencies, the eigenvectors of its Laplacian.

    eigenvectors: a gain for each of the lowest frequencies; it is tied to this one graph. chebyshev: polynomials of the
    Laplacian, which need no eigenvectors and see a few edges far. Data as for gcn; undirected graphs.
    """

    name: ClassVar[str] = "spectral"

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
        if self.directed:
            raise ValueError("the spectrum is that of an undirected graph, got directed=True; leave it out")
        if self.neighbours:
            raise ValueError(
                f"filters on the spectrum see the whole graph, got neighbours={self.neighbours!r}; leave it out"
            )

    def layer_name(self) -> str:
        return "chebyshev" if self.filters == "chebyshev" else "spectral"

    def layer_settings(self) -> dict[str, Any]:
        found = super().layer_settings()
        found.pop("frequencies")
        return found

    def build(self, data: "GraphData", graph: "Graph") -> "nn.Module":
        if self.filters == "chebyshev":
            return super().build(data, graph)
        from cutaway.data.graphs.eigenpairs import eigenpairs
        from cutaway.models.graphs.vertex_classifier import VertexClassifier

        assert graph.x is not None
        count = min(self.frequencies, graph.vertices)
        vectors = eigenpairs(graph, count, kind="symmetric").tensors()[1]
        model = VertexClassifier(
            inputs=graph.x.shape[1],
            classes=len(data.classes),
            layer="spectral",
            frequencies=vectors.shape[1],
            graph_size=graph.vertices,
            **self.layer_settings(),
        )
        assert model.eigenvectors is not None
        model.eigenvectors.copy_(vectors)
        return model
