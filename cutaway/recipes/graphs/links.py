r"""`links`: which vertices belong together, and how: friends to be, films one will like, friend or foe, ratings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.graph_settings import GraphRecipe
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.edges import EdgeTask
    from cutaway.tasks.graphs.links import LinkTask
    from cutaway.tasks.graphs.transfer import GraphReading
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job


_JUDGED: tuple[tuple[str, Any], ...] = (("auc", max), ("accuracy", max), ("rmse", min))  # what baselines are told by


@dataclass(frozen=True)
class LinksRecipe(GraphRecipe):
    """Says how probable a link between two vertices is; of signed edges (weights above and below 0), friend or foe.

    With a target in the list of edges, it tells the class or the value of an edge: friend, foe or unknown; a rating.
    Some edges are taken out of the graph and must be told from pairs without one; messages run over the others alone.
    If edges lead from one kind of vertex to another (people and films), it recommends: `cutaway predict RUN NAME` lists
    the most probable new links of a vertex.
    """

    name: ClassVar[str] = "links"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME or pairs.csv",
            gives="pairs of vertices (CSV), or a vertex, in; P(link), class or value of each, or its ten best new "
            "ones, out; --data and --vertices for another graph",
        ),
    )
    quality: ClassVar[str] = (
        "Cora, 10 % of the citations held out: AUC 94 %, average precision 94 % in 6 s of one core; common neighbours "
        "reach an AUC of 71 %. `python benchmarks/run.py graph_links` measures it. Three seeds of `… graph_values`: 14 "
        "relations of words 81 % right (always one 14), ratings of word pairs an RMSE of 2.38 (their habits 2.53)."
    )
    unit: ClassVar[str] = "nats a pair; of values, squared deviations"

    target: str = setting("", DATA)
    """a column of the list of edges with their classes (friend, foe) or values (ratings); weights below 0 need none"""
    task: Literal["auto", "links", "signs", "classes", "values"] = setting("auto", DATA)
    """what is asked: whether there is a link, which of two signs it has, its class, or its value; auto: what target
    holds (at most 50 different whole numbers are classes), signs if weights tell them, else links"""
    bipartite: bool = setting(False, DATA)
    """equal names in the two columns of edges are different vertices (person 1 and film 1)"""
    validation: float = setting(0.05, DATA)
    """share of the links to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the links for `cutaway test`; 0 for none"""
    layer: Literal["gcn", "gat", "gatv2", "gin", "sage", "notes"] = setting("gcn", FIRST)
    """how messages are put together"""
    decoder: Literal["mlp", "dot", "ordered"] = "mlp"
    """how two vertices are compared: by a small network, by their dot product, or each in its place (directed)"""
    width: int = setting(64, FIRST)
    """numbers that a vertex is described by"""
    dropout: float = setting(0.2, FIRST)
    """share of what goes into each layer that is dropped in training"""
    batch: int = setting(8192, FIRST)
    """links asked for in a step, with as many pairs that are none; at most three tenths of the training edges"""
    steps: int = 300
    """optimizer steps, at most"""
    patience: int = setting(15, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(5, RESULTS)
    """steps between evaluations"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "batch")

    def read_options(self) -> dict[str, Any]:
        labels = self.task if self.task in ("classes", "values") else "auto"
        return {"edge_target": self.target, "bipartite": self.bipartite, "labels": labels}

    def other_options(self, reading: "GraphReading") -> dict[str, Any]:
        labels = "classes" if reading.values is None else "values"
        known = reading.classes if reading.target else ()
        return {"edge_target": reading.target, "edge_classes": known, "bipartite": self.bipartite, "labels": labels}

    def link_task(self, data: "GraphData") -> "LinkTask | EdgeTask":
        """The graph of training edges, with features on the network's scale, and what is asked of which pairs."""
        from cutaway.tasks.graphs.edges import EdgeTask
        from cutaway.tasks.graphs.links import LinkTask, edge_kinds
        from cutaway.tasks.graphs.vertex_features import with_features

        if self.task in ("classes", "values") and data.edge_targets is None:
            raise ValueError(
                f"{self.task} of edges need a column that holds them, got none for {data.name}; name it by target"
            )
        if data.edge_targets is not None and self.task != "links" and len(data.edge_classes) != 2:
            graph = with_features(data.graph, self.features)
            return EdgeTask(graph, data.edge_targets, data.edge_classes, self.validation, self.test, self.seed)
        graph, kinds = edge_kinds(data, self.task)
        return LinkTask(with_features(graph, self.features), self.validation, self.test, self.seed, kinds)

    def pair_reading(self, data: "GraphData", task: "LinkTask | EdgeTask") -> "GraphReading":
        """How graphs are read, with what is asked of pairs: their classes or values."""
        import dataclasses

        from cutaway.tasks.graphs.edges import EdgeTask

        known = self.reading(data)
        if isinstance(task, EdgeTask):
            return dataclasses.replace(known, classes=task.classes, target=data.edge_target, values=task.scale)
        target = data.edge_target if task.kinds else ""
        return dataclasses.replace(known, classes=task.kinds, target=target, values=None)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.models.graphs.link_scorer import LinkScorer
        from cutaway.tasks.graphs.edge_inputs import edge_settings, edges_in_words
        from cutaway.training.jobs import Job

        data = self.dataset()
        task = self.link_task(data)
        torch.manual_seed(self.seed)
        assert task.graph.x is not None
        settings = edge_settings(self.layer, [task.graph], ignore=True)
        model = LinkScorer(
            inputs=task.graph.x.shape[1],
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
            decoder=self.decoder,
            **settings,
            **task.model_settings(),
        )
        facts, held = self.graph_facts(data), task.split.validation
        facts["loss_unit"] = "squared deviations" if self.pair_reading(data, task).values is not None else "nats a pair"
        if len(held):
            facts["baselines"] = task.baselines(held)
        facts["summary"] += "\n" + task.summary()
        facts["summary"] += edges_in_words(settings, self.layer, [data.graph], data.edge_feature_names)

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return task.metrics(m, held) if len(held) else {}

        batches = task.batches(self.batch, rank, world)
        told = {name for rule in facts.get("baselines", {}).values() for name in rule["metrics"]}
        figure = next((name for name in ("auc", "accuracy") if name in told), "loss")
        return Job(
            model=model,
            batches=batches,
            objective=task.cost,
            evaluate=evaluate,
            whole=evaluate,
            units=batches.batch,
            unit="links",
            files=self.graph_files(self.pair_reading(data, task)),
            data=facts,
            better=figure,
            more_is_better=figure != "loss",
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        task = self.link_task(self.dataset(run))
        rows = task.open_test()
        rules = [one["metrics"] for one in task.baselines(rows).values()]
        found = task.metrics(run.model, rows)
        name, better = next((name, better) for name, better in _JUDGED if name in found)
        known = [rule[name] for rule in rules if name in rule]
        return found | ({f"baseline_{name}": better(known)} if known else {})

    def vertex_vectors(self, run: "Run") -> "tuple[Sequence[str], Tensor]":
        from cutaway.tasks.graphs.vertex_features import embedded_vertices

        data = self.dataset(run)
        return data.names, embedded_vertices(run.model, self.link_task(data).graph)

    def read_inputs(self, source: str) -> Any:
        from cutaway.tasks.graphs.vertex_names import read_pairs

        return read_pairs(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """P(link), class or value of pairs of names; of one name, its ten best new links."""
        from cutaway.tasks.graphs.pair_answers import answer_pairs

        data = self.dataset(run)
        task = self.link_task(data)
        return answer_pairs(run.model, task.graph, data, self.pair_reading(data, task), inputs)

    def predict_in(self, run: "Run", inputs: Any, data: Any, vertices: Any = None) -> list[dict[str, Any]]:
        """The same for pairs of another graph, which has the same columns."""
        from cutaway.tasks.graphs.pair_answers import answer_pairs, other_messages

        if not inputs:
            raise ValueError("there must be pairs or a vertex to answer for, got none; give them beside data")
        found, reading, graph = self.other_graph(run, data, vertices)
        return answer_pairs(run.model, other_messages(found, reading, graph), found, reading, inputs)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph of training edges and some pairs that it was not trained on; those of a vertex, if one is named."""
        from cutaway.tasks.graphs.links import link_subject

        data = self.dataset(run)
        return link_subject(run, self.link_task(data), data, given)
