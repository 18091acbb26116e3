r"""The task `graphs`: classes or values of whole graphs, by an encoder that has learned to restore hidden parts of
many, or by a model of whole graphs that was trained for something else.
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.graphs.whole_graphs import WholeGraphs
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.graphs import TunedGraphNetwork

_RATES = {"lora": 3e-3, "adapter": 3e-3, "head_only": 1e-2, "last": 1e-3, "full": 1e-3}
_FEWEST, _MOST = 100, 2000  # steps


@dataclass(frozen=True)
class TunedGraphsRecipe(TunedRecipe):
    """Tunes a model of many graphs (`masked-graph`, gin) to give whole graphs a class or value, where few are known.

    The graphs are read as those of the base were: molecules, TU files, folders.
    """

    name: ClassVar[str] = "tuned-graphs"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="molecules.csv",
            gives="molecules (a SMILES, or a CSV of them) or graphs in; the class or value of each out",
        ),
        Offer("embed"),
    )
    task: ClassVar[str] = "graphs"
    task_kind: ClassVar[str] = "graphs/whole_graphs"
    quality: ClassVar[str] = (
        "ESOL with 100 labelled molecules, after `masked-graph` on 2,500 without any: RMSE 1.08 with all weights, 1.11 "
        "by LoRA, 1.24 by a head; but 1.03 without that pretraining, and `gin` from scratch 0.99 (forest on "
        "fingerprints 1.70): on molecules it does not pay. `python benchmarks/run.py few_label_graphs` measures it."
    )
    unit: ClassVar[str] = "nats a graph; of values, squared deviations"
    memory: ClassVar[str] = "cutaway.data.stored:keep_graphs"

    data: str = setting("", FIRST, "PATH")  # in Python graphs in memory, too
    """a CSV with a column of SMILES and a target, a folder or .txt of graphs, or an embedded sample"""
    target: str = setting("", FIRST, "COLUMN")
    """the column of the target in a table of molecules (default: one with a usual name)"""
    split: Literal["random", "scaffold"] = setting("random", DATA)
    """how graphs are divided; scaffold: molecules with one skeleton stay together, so that the test has new ones"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""
    readout: Literal["sum", "mean", "max"] = setting("sum", FIRST)
    """how the vertices of a graph become one vector, of a base that restores; one of whole graphs keeps its own"""

    epochs: float = setting(30.0, FIRST)
    """how often every graph is seen; the steps are 100 at least and 2,000 at most"""
    rate: float = setting(0.0, FIRST)
    """full learning rate; 0 for one that suits the way: 0.003 for LoRA and adapters, 0.01 for a head, 0.001 for last
    layers and all weights"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    final: Literal["best", "last"] = setting("last", RESULTS)
    """the weights that the run ends with: last, as few graphs cannot tell which are best, or best by validation"""

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import many_graphs

        return many_graphs(data)

    @override
    def usual_rate(self, way: str) -> float:
        return _RATES[way]

    @override
    def settled(self, task: Any, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        if self.steps:
            return new
        steps = min(max(new.steps, _FEWEST), _MOST)
        return dataclasses.replace(
            new,
            steps=steps,
            warmup=self.warmup or steps // 16,
            evaluate_every=self.evaluate_every or max(1, steps // 20),
            checkpoint_every=self.checkpoint_every or max(1, steps // 2),
        )

    @override
    def read(self, base: Any = None) -> "WholeGraphs":
        from cutaway.tasks.graphs.whole_graphs import WholeGraphs
        from cutaway.tuning.graph_bases import features_of_base

        task, inputs = WholeGraphs(self, like=features_of_base(base)), base.model.spec.inputs
        if task.width != inputs:
            raise ValueError(
                f"graphs must have the {inputs} features of their base's, got {task.width} in {task.parts.name}; give "
                "graphs of the kind that the base has learned"
            )
        return task

    @override
    def headed(self, base: "Base", task: "WholeGraphs") -> "nn.Module":
        kind = "multi-class" if task.classes else "regression"
        more = {"readout": self.readout} if hasattr(base.model, "restore") else {}
        return base.model.with_purpose("graphs", kind, len(task.classes) or 1, **more)

    @override
    def learner_kind(self) -> "type[TunedGraphNetwork]":
        from cutaway.tuning.learners.graphs import TunedGraphNetwork

        return TunedGraphNetwork
