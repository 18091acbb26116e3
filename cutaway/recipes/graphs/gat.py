r"""`gat`: the class of a vertex, by attention on the edges: each vertex weighs its neighbours."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_share
from cutaway.recipes.graphs.vertex_settings import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class GATRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class; how much a neighbour counts is learned, edge by edge (attention).

    `cutaway look RUN NAME` draws the attention that a vertex pays to its neighbours. Data as for gcn.
    """

    name: ClassVar[str] = "gat"
    quality: ClassVar[str] = (
        "Test accuracy on Cora's public split, mean of ten seeds, weights chosen on validation: 83.2 ± 0.3 % "
        "(published 83.0 ± 0.7), 17 s of one core. Citeseer 70.8 ± 0.4, and 71.9 ± 0.9 with --best-by error, as its "
        "authors chose there (published 72.5 ± 0.7). `python benchmarks/run.py graph_classes` measures it."
    )
    layer: ClassVar[str] = "gat"

    width: int = setting(64, FIRST)
    """numbers that a vertex is described by between layers, all heads together"""
    heads: int = setting(8, FIRST)
    """attention heads of every layer but the last, which has one"""
    dropout: float = setting(0.6, FIRST)
    """share of what goes into each layer that is dropped in training"""
    attention_dropout: float = 0.6
    """share of the attention weights that are dropped in training"""
    activation: Literal["elu", "relu", "gelu"] = "elu"
    """after every layer but the last"""
    norm: Literal["none", "layer", "batch"] = "none"
    """what brings the values after a layer to one scale; deep networks need it"""
    residual: bool = False
    """add what went into a layer to what comes out; deep networks need it"""

    steps: int = 500
    """passes over the graph, at most"""
    patience: int = 100
    """evaluations without improvement before stopping; 0 to go on"""
    rate: float = 5e-3
    """full learning rate"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "attention_dropout")
