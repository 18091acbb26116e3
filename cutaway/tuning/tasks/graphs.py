r"""The task `graphs`: classes or values of whole graphs, by an encoder that has learned to restore hidden parts of
many, or by a model of whole graphs that was trained for something else.

    z = [readout(x_1), …, readout(x_depth)]        x_s: the states of the vertices after stage s of the base
    outputs = norm(z) W + b                         the new head
"""

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.graphs.gin import ABOUT, GINRecipe
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe, features_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch import Tensor, nn

    from cutaway.data.graphs.graph_set import GraphSet
    from cutaway.data.graphs.raw_graph_sets import GraphFeatures
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.whole_graphs import Scale
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.comparison import Answers

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

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import many_graphs

        return many_graphs(data)

    def settled(self, task: Any = None, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        more: dict[str, Any] = {} if self.rate else {"rate": _RATES[new.way]}
        if not self.steps:
            steps = min(max(new.steps, _FEWEST), _MOST)
            more |= {"steps": steps, "warmup": self.warmup or steps // 16}
            more |= {"evaluate_every": self.evaluate_every or max(1, steps // 20)}
            more |= {"checkpoint_every": self.checkpoint_every or max(1, steps // 2)}
        return dataclasses.replace(new, **more)

    def reader(self) -> GINRecipe:
        """The recipe whose way of reading graphs with targets is taken."""
        names = ("data", "target", "split", "encoding", "validation", "test", "seed")
        return GINRecipe(**{name: getattr(self, name) for name in names})

    def labelled(self, like: "GraphFeatures | None", inputs: int, run: "Run | None" = None) -> "GraphSet":
        """The graphs in their three parts, with the features of the base's; those of a ``run`` must be as they were."""
        found = self.reader().dataset(run, like)
        first = found.train.graphs[0]
        width = 1 if first.x is None else first.x.shape[1]
        if width != inputs:
            raise ValueError(
                f"graphs must have the {inputs} features of their base's, got {width} in {found.name}; give graphs of "
                "the kind that the base has learned"
            )
        return found

    def read(self, base: "Base") -> "GraphSet":
        from cutaway.tuning.graph_bases import features_of_base

        return self.labelled(features_of_base(base), base.model.spec.inputs)

    def dataset(self, run: "Run") -> "GraphSet":
        """The graphs of a run, as they were."""
        from cutaway.tasks.graphs.new_graphs import graph_features

        model: Any = run.model
        return self.labelled(graph_features(run), model.spec.inputs, run)

    def count(self, data: "GraphSet") -> int:
        return len(data.train)

    def headed(self, base: "Base", data: "GraphSet") -> "nn.Module":
        kind = "multi-class" if data.classes else "regression"
        more = {"readout": self.readout} if hasattr(base.model, "restore") else {}
        return base.model.with_purpose("graphs", kind, len(data.classes) or 1, **more)

    def task_job(self, model: "nn.Module", base: "Base", data: "GraphSet", rank: int, world: int) -> "Job":
        from cutaway.atomic_files import write_json
        from cutaway.data.batches import ShuffledRows
        from cutaway.tasks.graphs.edge_inputs import edges_in_words
        from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines
        from cutaway.tasks.graphs.whole_graphs import GraphBatches, outcome_cost, outcome_metrics, outcome_outputs
        from cutaway.training.jobs import Job
        from cutaway.tuning import graph_features as kept

        reader, held = self.reader(), data.validation
        scale = reader.scale_of(data)
        spec: Any = model.spec
        told = edges_in_words(spec.to_dict(), spec.layer, data.train.graphs, data.edge_feature_names)
        facts: dict[str, Any] = {"summary": data.summary() + told, "fingerprint": data.fingerprint.to_dict()}
        facts["source"] = self.data
        facts["loss_unit"] = "nats a graph" if data.classes else "squared deviations"
        if held is not None:
            facts["baselines"] = graph_baselines(data.train, held, scale, len(data.classes))
        about = reader.about(data)
        files: dict[str, Callable[[Path], None]] = {ABOUT: lambda path: write_json(path, about)}
        train = kept.GraphFeatureRows(model, data.train)
        kept.measure_head(model, train)
        held_features = kept.GraphFeatureRows(model, held) if self.head_only and held is not None else None
        batches: Any = GraphBatches(data.train, self.batch, self.seed, rank, world)
        objective: Any = partial(outcome_cost, scale=scale)
        if self.head_only:
            batches = ShuffledRows(len(data.train), self.batch, self.seed, rank, world)
            objective = partial(kept.feature_loss, features=train, scale=scale)
            facts["summary"] += f"\n{features_in_words([train, held_features], self.features_memory)}"
        else:
            kept.fit_graph_head(model, train, scale, self.seed)

        def evaluate(m: "nn.Module") -> dict[str, float]:
            if held is None or held.targets is None:
                return {}
            if held_features is not None:
                return kept.feature_outcomes(m, held_features, scale)
            return outcome_metrics(outcome_outputs(m, held.graphs, scale), held.targets, scale)

        return Job(
            model=model,
            batches=batches,
            objective=objective,
            evaluate=evaluate,
            whole=evaluate,
            units=self.batch,
            unit="graphs",
            files=files,
            data=facts,
            better="accuracy" if scale is None else "loss",
            more_is_better=scale is None,
        )

    def graphs_of(self, run: "Run") -> "tuple[GraphSet, Scale | None]":
        """The graphs of a run and the scale of their values, for pictures."""
        data = self.dataset(run)
        return data, self.reader().scale_of(data)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return self.reader().test_scores(run, *self.graphs_of(run))

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each graph and P(label) for every label, or its value."""
        return self.reader().predict(run, inputs)

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """A vector for each graph: what the model knows of it before it answers."""
        return self.reader().embed(run, inputs)

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        return self.reader().embedded_items(run, source, column, encoding)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Graphs of a path or a SMILES; without one, some that it was not trained on."""
        return self.reader().graphs_to_show(run, given, lambda: self.dataset(run))

    def held_out_inputs(self, run: "Run") -> "list[tuple[Any, ...]]":
        from cutaway.tasks.graphs.whole_graphs import batch_of

        held = self.dataset(run).validation
        return [] if held is None else [(batch_of(run.model, held.take(range(min(len(held), 64))).graphs),)]

    def answers_before_and_after(self, run: "Run", base: Any) -> "Answers | None":
        from cutaway.tuning.graph_comparison import graph_answers

        return graph_answers(base, run.model, self.dataset(run))


__all__ = ["TunedGraphsRecipe"]
