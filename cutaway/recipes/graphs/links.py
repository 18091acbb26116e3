r"""`links`: which vertices belong together: friends to be, films that one will like, friend or foe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.graphs.graph_base import GraphRecipe
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.recipes.graphs.edges.link_pairs import LinkTask
    from cutaway.recipes.subjects import Subject
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class LinksRecipe(GraphRecipe):
    """Says how probable a link between two vertices is; of signed edges (weights above and below 0), friend or foe.

    Some edges are taken out of the graph and must be told from pairs without one; messages run over the others alone.
    If edges lead from one kind of vertex to another (people and films), it recommends: `cutaway predict RUN NAME` lists
    the most probable new links of a vertex.
    """

    name: ClassVar[str] = "links"
    quality: ClassVar[str] = (
        "Cora, 10 % of the citations held out: AUC 94 %, average precision 94 % in 6 s of one core; common neighbours "
        "reach an AUC of 71 %. `python benchmarks/run.py graph_links` measures it."
    )
    unit: ClassVar[str] = "nats a pair"
    input: ClassVar[str] = "NAME or pairs.csv"
    prediction: ClassVar[str] = (
        "pairs of vertices (CSV), or a vertex, in; P(link) of each, or its ten best new ones, out"
    )

    target: str = setting("", DATA)
    """a column of the list of edges with two classes, as friend and foe, to tell apart; weights below 0 need none"""
    task: Literal["auto", "links", "signs"] = setting("auto", DATA)
    """what is asked: whether there is a link, or which of two kinds; auto: kinds if weights or target tell them"""
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
        return {"edge_target": self.target, "bipartite": self.bipartite}

    def link_task(self, data: "GraphData") -> "LinkTask":
        """The graph of training edges, with features on the network's scale, and the pairs to tell apart."""
        from cutaway.recipes.graphs.edges.link_pairs import LinkTask, edge_kinds
        from cutaway.recipes.graphs.vertex_features import with_features

        graph, kinds = edge_kinds(data, self.task)
        return LinkTask(with_features(graph, self.features), self.validation, self.test, self.seed, kinds)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.models.graphs.link_scorer import LinkScorer
        from cutaway.training.jobs import Job

        data = self.dataset()
        task = self.link_task(data)
        torch.manual_seed(self.seed)
        assert task.graph.x is not None
        model = LinkScorer(
            inputs=task.graph.x.shape[1],
            layer=self.layer,
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
            decoder=self.decoder,
            signed=bool(task.kinds),
        )
        facts, held = self.graph_facts(data), task.split.validation
        if len(held):
            facts["baselines"] = task.baselines(held)
        facts["summary"] += "\n" + task.summary()

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return task.metrics(m, held) if len(held) else {}

        batches = task.batches(self.batch, rank, world)
        return Job(
            model=model,
            batches=batches,
            objective=task.cost,
            evaluate=evaluate,
            whole=evaluate,
            units=batches.batch,
            unit="links",
            files=self.graph_files(data),
            data=facts,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        task = self.link_task(self.dataset(run))
        rows = task.open_test()
        naive = task.baselines(rows)
        known = [one["metrics"]["auc"] for one in naive.values() if "auc" in one["metrics"]]
        return task.metrics(run.model, rows) | ({"baseline_auc": max(known)} if known else {})

    def read_inputs(self, source: str) -> Any:
        from cutaway.recipes.graphs.vertex_names import read_pairs

        return read_pairs(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """P(link) of pairs of names; of one name, its ten most probable new links."""
        from cutaway.recipes.graphs.edges.link_pairs import new_links, predicted_pairs
        from cutaway.recipes.graphs.vertex_names import find_pairs, find_vertices

        data = self.dataset(run)
        task = self.link_task(data)
        if isinstance(inputs, str):
            (vertex,) = find_vertices([inputs], data.names)
            pairs, scores = new_links(task, run.model, data.graph, int(vertex))
        else:
            pairs = find_pairs(inputs, data.names)
            scores = task.scores(run.model, pairs)
        return predicted_pairs(scores, pairs, data.names, task.kinds)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph of training edges and some pairs that it was not trained on; those of a vertex, if one is named."""
        from cutaway.recipes.graphs.edges.link_pairs import link_subject

        data = self.dataset(run)
        return link_subject(run, self.link_task(data), data, given)
