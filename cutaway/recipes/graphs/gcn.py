r"""`gcn`: the class of a vertex, by convolution on the graph: papers that cite each other, people, pages, places."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.recipes.graphs.vertex_settings import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class GCNRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class: it mixes the features of a vertex with the mean of its neighbours'.

    A few labelled vertices are enough: the others teach by their features and edges. The graph is a list of edges, with
    a table of vertices (id, features, label) beside it; networkx, SciPy and PyG graphs are read in Python.
    """

    name: ClassVar[str] = "gcn"
    quality: ClassVar[str] = (
        "Test accuracy on the public splits, mean of ten seeds, weights chosen on validation: Cora 81.8 % (published "
        "81.5), Citeseer 70.9 % (70.3), 2 s of one core each. `python benchmarks/run.py graph_classes` measures it."
    )
    layer: ClassVar[str] = "gcn"
    decays_first_layer_only: ClassVar[bool] = True

    width: int = setting(16, FIRST)
    """numbers that a vertex is described by between layers"""
    weight_decay: float = 5e-4
    """pull of the first layer's matrix towards zero"""
    dropout: float = setting(0.5, FIRST)
    """share of what goes into each layer that is dropped in training"""
    norm: Literal["none", "layer", "batch"] = "none"
    """what brings the values after a layer to one scale; deep networks need it"""
    residual: bool = False
    """add what went into a layer to what comes out; deep networks need it"""
