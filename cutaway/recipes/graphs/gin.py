r"""`gin`: the class or value of a whole graph: molecules, proteins, small networks."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch import Tensor, nn

    from cutaway.data.graphs.graph_set import GraphRows, GraphSet
    from cutaway.data.graphs.raw_graph_sets import GraphFeatures
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.whole_graphs import Scale
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

ABOUT = "graphs.json"  # in the run folder
_SHOWN = 12  # graphs that a page looks at


@dataclass(frozen=True)
class GINRecipe(Recipe):
    """Gives a whole graph one class, or a value, by sums over neighbours (GIN): the strongest kind of messages.

    Data: a CSV of molecules (SMILES) and a target, a folder of graphs, TU files, or a .txt as of MUTAG. Whether the
    target is a class or a value is found by its looks. A random forest that sees no edges stands beside it.
    """

    name: ClassVar[str] = "gin"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="molecules.csv",
            gives="molecules (a SMILES, or a CSV of them) or graphs in; the class or value of each out",
        ),
        Offer("embed"),
    )
    memory: ClassVar[str] = "cutaway.data.stored:keep_graphs"
    quality: ClassVar[str] = (
        "Nested 10-fold cross-validation: PROTEINS 75.5 ± 3.0 % (a random forest without edges 71.7 ± 2.9; published, "
        "with the epoch chosen on the test folds, 76.2 ± 2.8), MUTAG 84.6 ± 7.6 (85.6 ± 4.7; 89.4 ± 5.6, ours "
        "so chosen 89.3). `python benchmarks/run.py graph_folds` measures it, `… molecules` BBBP and ESOL."
    )
    unit: ClassVar[str] = "nats a graph; of values, squared deviations"

    data: str = "trees"
    """a CSV with a column of SMILES and a target, a folder or .txt of graphs, or an embedded sample"""
    target: str = setting("", DATA)
    """the column of the target in a table of molecules (default: one with a usual name)"""
    split: Literal["random", "scaffold"] = setting("random", DATA)
    """how graphs are divided; scaffold: molecules with one skeleton stay together, so that the test has new ones"""
    validation: float = setting(0.1, DATA)
    """share of the graphs to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the graphs for `cutaway test`; 0 for none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""
    edge_features: Literal["auto", "ignore"] = setting("auto", DATA)
    """features of edges, as the kinds of bonds: read, and refused where the layers read none; or ignored"""

    layer: Literal["gin", "gcn", "gat", "gatv2", "sage", "notes"] = setting("gin", FIRST)
    """how messages are put together"""
    width: int = setting(64, FIRST)
    """numbers that a vertex is described by between layers"""
    depth: int = setting(4, FIRST)
    """layers: how many edges away a vertex can see"""
    readout: Literal["sum", "mean", "max", "attention", "global"] = "sum"
    """how the vertices of a graph become one vector; global: the state of a vertex that is joined to all of them"""
    pooling: Literal["none", "clusters"] = "none"
    """clusters: after half of the layers, pairs of neighbours become one vertex"""
    jumping: bool = True
    """read out every layer, not the last alone"""
    dropout: float = 0.3
    """share of what is known of a graph that is dropped in training, before the output"""
    norm: Literal["batch", "layer", "none"] = "batch"
    """what brings the values after a layer to one scale"""
    batch: int = setting(32, FIRST)
    """graphs in a batch; fewer are taken whole"""
    steps: int = 1000
    """optimizer steps, at most"""
    rate: float = 3e-3
    """full learning rate"""
    beta: float = 0.99
    """how long Adam remembers squared gradients"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    patience: int = setting(10, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(25, RESULTS)
    """steps between evaluations"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth")

    def settled(self, task: Any = None, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    def dataset(self, run: "Run | None" = None, like: "GraphFeatures | None" = None) -> "GraphSet":
        """The graphs in their three parts; those of a ``run`` must be as they were.

        ``like`` are the features of other graphs, which these then have.
        """
        found = self._read(self.data, like)
        if found.train.targets is None:
            raise ValueError(
                f"a model of graphs needs targets to learn from, got {found.name} without any; name their column by "
                "target"
            )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def _read(self, source: Any, like: "GraphFeatures | None" = None) -> "GraphSet":
        from cutaway.data.graphs.graph_set import read_graphs

        return read_graphs(
            source,
            target=self.target,
            split=self.split,
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            like=like,
        )

    def scale_of(self, data: "GraphSet") -> "Scale | None":
        """The scale of values; None of classes."""
        from cutaway.tasks.graphs.whole_graphs import Scale

        return None if data.classes or data.train.targets is None else Scale.of(data.train.targets)

    def about(self, data: "GraphSet") -> dict[str, Any]:
        """What a run notes of its graphs, to read others as these."""
        scale = self.scale_of(data)
        found: dict[str, Any] = {"classes": list(data.classes), "target": data.target}
        found["features"] = data.features.to_dict()
        return found | ({} if scale is None else {"mean": scale.mean, "std": scale.std})

    def build(self, data: "GraphSet") -> "nn.Module":
        """The untrained model."""
        from cutaway.models.graphs.graph_predictor import GraphPredictor
        from cutaway.tasks.graphs.edge_inputs import edge_settings

        graph = data.train.graphs[0]
        return GraphPredictor(
            task="multi-class" if data.classes else "regression",
            outputs=len(data.classes) or 1,
            inputs=1 if graph.x is None else graph.x.shape[1],
            **edge_settings(self.layer, data.train.graphs, self.edge_features == "ignore"),
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            readout=self.readout,
            pooling=self.pooling,
            jumping=self.jumping,
            norm=self.norm,
            head_dropout=self.dropout,
        )

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.atomic_files import write_json
        from cutaway.tasks.graphs.edge_inputs import edges_in_words, expect_readable_edges
        from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines
        from cutaway.tasks.graphs.whole_graphs import (
            GraphBatches,
            outcome_cost,
            outcome_metrics,
            outcome_outputs,
        )
        from cutaway.training.jobs import Job

        data = self.dataset()
        graphs, names = data.train.graphs, data.edge_feature_names
        if self.edge_features != "ignore":
            expect_readable_edges(self.layer, graphs, names, data.name)
        scale, held = self.scale_of(data), data.validation
        torch.manual_seed(self.seed)
        model: Any = self.build(data)
        told = edges_in_words(model.spec.to_dict(), self.layer, graphs, names)
        facts = {"summary": data.summary() + told, "fingerprint": data.fingerprint.to_dict(), "source": self.data}
        facts["loss_unit"] = "nats a graph" if data.classes else "squared deviations"
        if held is not None:
            facts["baselines"] = graph_baselines(data.train, held, scale, len(data.classes))
        about = self.about(data)
        batch = min(self.batch, len(data.train))
        files: dict[str, Callable[[Path], None]] = {ABOUT: lambda path: write_json(path, about)}

        def evaluate(m: "nn.Module") -> dict[str, float]:
            if held is None or held.targets is None:
                return {}
            return outcome_metrics(outcome_outputs(m, held.graphs, scale), held.targets, scale)

        return Job(
            model=model,
            batches=GraphBatches(data.train, batch, self.seed, rank, world),
            objective=partial(outcome_cost, scale=scale),
            evaluate=evaluate,
            whole=evaluate,
            units=batch,
            unit="graphs",
            files=files,
            data=facts,
            better="accuracy" if scale is None else "loss",
            more_is_better=scale is None,
        )

    def graphs_of(self, run: "Run") -> "tuple[GraphSet, Scale | None]":
        """The graphs of a run and the scale of their values, for pictures."""
        data = self.dataset(run)
        return data, self.scale_of(data)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        return self.test_scores(run, *self.graphs_of(run))

    def test_scores(self, run: "Run", data: "GraphSet", scale: "Scale | None") -> dict[str, float]:
        """What a run's model reaches on the test graphs, beside the forest that sees no edges."""
        from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines
        from cutaway.tasks.graphs.whole_graphs import outcome_metrics, outcome_outputs

        rows = data.open_test()
        assert rows.targets is not None
        naive = graph_baselines(data.train, rows, scale, len(data.classes))["structure-blind"]["metrics"]
        name = "accuracy" if scale is None else "rmse"
        found = outcome_metrics(outcome_outputs(run.model, rows.graphs, scale), rows.targets, scale)
        return found | {f"baseline_{name}": naive[name]}

    def read_new(self, run: "Run", inputs: Any) -> "GraphRows":
        """New graphs with the features of training: a SMILES, several, a file or folder, or graphs in memory."""
        from cutaway.tasks.graphs.new_graphs import graph_features, read_new_graphs

        return read_new_graphs(inputs, self.encoding, graph_features(run))

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each graph and P(label) for every label, or its value."""
        from cutaway.tasks.graphs.new_graphs import graph_about
        from cutaway.tasks.graphs.whole_graphs import outcome_outputs, predicted_graphs

        classes, target, scale = graph_about(run)
        rows = self.read_new(run, inputs)
        return predicted_graphs(outcome_outputs(run.model, rows.graphs, scale), rows.names, classes, target)

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """A vector for each graph: what the model knows of it before it answers."""
        from cutaway.data.graphs.graph_set import GraphRows
        from cutaway.tasks.graphs.whole_graphs import graph_vectors

        rows = inputs if isinstance(inputs, GraphRows) else self.read_new(run, inputs)
        return graph_vectors(run.model, rows.graphs)

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        """The graphs of a file or folder (a SMILES, or a table of them), some hundred at a time."""
        rows = self.read_new(run, source)
        for first in range(0, len(rows), 512):
            some = rows.take(range(first, min(first + 512, len(rows))))
            yield [str(name) for name in some.names], some

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Graphs of a path or a SMILES; without one, some that it was not trained on."""
        return self.graphs_to_show(run, given, lambda: self.dataset(run))

    def graphs_to_show(self, run: "Run", given: str | None, own: "Callable[[], GraphSet]") -> "Subject":
        """Graphs that a page looks at: those that are ``given``, else some of the run's ``own``."""
        from cutaway.tasks.graphs.whole_graphs import batch_of
        from cutaway.tasks.subjects import Subject

        if given is not None:
            rows, words = self.read_new(run, given), "your graphs"
        else:
            data = own()
            rows = data.train if data.validation is None else data.validation
            words = "graphs that it was " + ("trained on" if data.validation is None else "not trained on")
        some = rows.take(range(min(_SHOWN, len(rows))))
        return Subject((batch_of(run.model, some.graphs),), words, some.names, ", ".join(some.names))

    def smaller(self) -> str:
        return f"lower batch={self.batch} or width={self.width}"
