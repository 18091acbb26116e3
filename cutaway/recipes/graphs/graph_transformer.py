r"""`graph-transformer`: the class of a vertex, by a transformer with attention along edges or between all pairs."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_heads, expect_share
from cutaway.recipes.graphs.vertex_settings import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class GraphTransformerRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class by attention and MLPs, as in a transformer.

    Along edges each vertex looks at its neighbours; between all pairs at every vertex, and only encodings tell it where
    it stands: how often a random walk comes back to it, its entries of the Laplacian's eigenvectors. Data as for gcn.
    """

    name: ClassVar[str] = "graph-transformer"
    quality: ClassVar[str] = (
        "Test accuracy on Cora's public split, mean of three seeds: 74.0 ± 2.0 % (gcn 81.8; features alone 56.6, label "
        "propagation 71.3), 13 s of one core: with 140 labels a freer network learns less. `python benchmarks/run.py "
        "graph_classes` measures it."
    )

    scope: Literal["edges", "pairs"] = setting("edges", FIRST)
    """attention along edges, or between all pairs of vertices: memory grows with their square"""
    width: int = setting(64, FIRST)
    """numbers that a vertex is described by"""
    heads: int = setting(4, FIRST)
    """attention heads of a layer"""
    walks: int = 8
    """steps of the random walks whose returns are added to the features; 0 for none"""
    frequencies: int = 0
    """eigenvectors of the Laplacian that are added to the features, with signs at random; 0 for none"""
    dropout: float = setting(0.5, FIRST)
    """share of what goes into each layer that is dropped in training"""
    attention_dropout: float = 0.3
    """share of what attention and MLP add that is dropped in training"""
    steps: int = 150
    """optimizer steps, at most"""
    rate: float = 2e-3
    """full learning rate"""
    patience: int = 30
    """evaluations without improvement before stopping; 0 to go on"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "attention_dropout")
        expect_at_least(self, 0, "walks", "frequencies")
        expect_heads(self)
        if self.frequencies:
            self.expect_whole_graph("eigenvectors of the Laplacian")

    @override
    def eigenvectors_asked(self) -> int:
        return self.frequencies

    @override
    def layer_name(self) -> str:
        return "transformer" if self.scope == "edges" else "all-pairs"
