r"""`grn`: the class of a vertex, by a recurrent network on the graph: vertices talk until they are done."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.vertex_settings import VertexClassifierRecipe
from cutaway.recipes.settings import FIRST, setting


@dataclass(frozen=True)
class GRNRecipe(VertexClassifierRecipe):
    """Gives every vertex of a graph one class by states that neighbours pass on to each other, with the same weights.

    gated: a fixed number of steps of one GRU. fixed-point: until nothing changes, by a map that brings any two states
    closer (Scarselli et al. 2009), with gradients of the state at rest. Data as for gcn.
    """

    name: ClassVar[str] = "grn"
    quality: ClassVar[str] = (
        "Test accuracy on Cora's public split, mean of three seeds: 74.2 ± 3.7 % (gcn 81.8; features alone 56.6, label "
        "propagation 71.3), 11 s of one core. `python benchmarks/run.py graph_classes` measures it."
    )

    design: Literal["gated", "fixed-point"] = setting("gated", FIRST)
    """steps of a GRU, or a state at rest"""
    rounds: int = setting(3, FIRST)
    """gated: steps, and so how many edges away a vertex can see"""
    contraction: float = 0.9
    """fixed-point: the share of a difference that is left after a step; below 1"""
    width: int = setting(32, FIRST)
    """numbers of a state"""
    depth: int = 1
    """recurrent layers on top of each other"""
    steps: int = 150
    """optimizer steps, at most"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "rounds")
        if not 0 < self.contraction < 1:
            raise ValueError(
                f"contraction must be between 0 and 1, got {self.contraction}; with 1 or more states may never come to "
                "rest; try contraction=0.9"
            )

    @override
    def layer_name(self) -> str:
        return self.design
