r"""`node2vec`: a vector for every vertex, learned from random walks as word vectors are from sentences."""

import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, MODEL, RESULTS, setting
from cutaway.recipes.words.wordvectors import WordVectorsRecipe

if TYPE_CHECKING:
    from cutaway.tasks.graphs.walk_texts import WalkTexts
    from cutaway.tasks.words.word2vec import Word2Vec

_WALKS, _PASSES, _STEPS = 10, 5.0, 100  # of a graph of usual size
_READ = 100_000_000  # vertices of walks that are read unless more are asked for: some minutes of one core
_AT_ONCE = 500_000  # that a step reads at most: some seconds, after which a run can be stopped


@dataclass(frozen=True)
class Node2VecRecipe(WordVectorsRecipe):
    """Learns a vector for every vertex: vertices that random walks meet together get vectors that point alike.

    `cutaway nearest RUN NAME` lists the vertices nearest to one, `cutaway export RUN --to vectors.txt` writes them all.
    Walks are sentences of vertices; they are read by the recipe `wordvectors`, whose settings these are.
    """

    name: ClassVar[str] = "node2vec"
    task_kind: ClassVar[str] = "graphs/walk_texts"
    unit: ClassVar[str] = "nats a vertex of a walk"
    open_settings: ClassVar[tuple[str, ...]] = ("walks", "passes", "steps")
    quality: ClassVar[str] = (
        "Cora's public split, logistic regression on the vectors, mean of three seeds: test accuracy 65.1 ± 2.0 % "
        "(published for DeepWalk 67.2; label propagation 71.3, the largest class alone 31.9), 14 s of one "
        "core. `python benchmarks/graph_classes.py cora-node2vec` measures it."
    )

    data: str = "karate-club"
    """a list of edges (CSV, TSV, Parquet), GraphML, JSON, Pajek, Matrix Market, an .npz, or an embedded sample"""
    directed: bool = setting(False, DATA)
    """walks go from the first vertex of an edge to the second alone"""
    weight: str = setting("", DATA)
    """the column of weights in the list of edges (default: one called weight)"""
    repeats: Literal["auto", "add", "first", "last", "keep"] = setting("auto", DATA)
    """an edge that comes again; auto: kept once, its weights add up, and refused if features or labels contradict; add:
    each counts; first, last: that one is taken; keep: edges of their own"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a list of edges holds the names of its columns (default: by its looks)"""
    walks: int = setting(0, FIRST)
    """walks from every vertex; 0: 10, and fewer where a graph has millions of vertices"""
    length: int = setting(40, FIRST)
    """vertices of a walk"""
    back: float = 1.0
    """p of node2vec: above 1, walks seldom turn back"""
    away: float = 1.0
    """q of node2vec: above 1, walks stay near where they came from; below 1, they go far"""
    words: Literal["letters", "spaces"] = setting("spaces", DATA)
    """what parts words: of walks, spaces"""
    keep_case: bool = setting(True, DATA)
    """keep capital letters"""
    min_count: int = setting(1, DATA)
    """how often walks must meet a vertex for it to get a vector"""
    validation: float = setting(0.02, DATA)
    """share of the walks to evaluate on; 0 for none"""
    test: float = setting(0.02, DATA)
    """share of the walks for `cutaway test`; 0 for none"""
    method: Literal["cbow", "skip-gram"] = setting("skip-gram", MODEL)
    """guess a vertex from those around it in a walk, or from one of them"""
    window: int = setting(5, MODEL)
    """vertices on either side that a context reaches, at most"""
    sample: float = 0.0
    """share of the walks from which frequent vertices are thinned out; 0 for never"""
    width: int = setting(64, FIRST)
    """numbers of a vector"""
    passes: float = setting(0.0, FIRST)
    """times that the walks are read; 0: 5, and fewer above 50,000 vertices"""
    steps: int = 0
    """pieces that these passes are cut into; 0: 100, and more for large graphs"""
    checkpoint_every: int = setting(50, RESULTS)
    """steps between checkpoints"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 2, "length")
        for name in ("back", "away"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}; 1 for a plain walk")
        fixed: dict[str, Any] = {"words": "spaces", "keep_case": True, "phrases": 0, "across_lines": False}
        for name, value in (fixed | {"subwords": 0}).items():
            if getattr(self, name) != value:
                raise ValueError(f"walks are no text, got {name}={getattr(self, name)!r}; leave it out")

    @override
    def read(self, base: Any = None) -> "WalkTexts":
        """The graph; its walks are drawn when their number is chosen."""
        from cutaway.tasks.graphs.walk_texts import WalkTexts

        task = WalkTexts(self)
        task.graph, task.tests  # noqa: B018 -- reads them
        return task

    @override
    def settled(self, task: Any, base: Any = None) -> "Node2VecRecipe":
        """The recipe with walks, passes and steps chosen by the size of the graph, where nobody chose them.

        A run stops, and is saved, between two steps; so a large graph has more of them, that each take seconds.
        """
        chosen: Any = super().settled(task, base)
        return chosen if chosen.walks and chosen.passes and chosen.steps else chosen._for_size(task)

    def _for_size(self, task: Any) -> "Node2VecRecipe":
        vertices = max(1, task.graph.graph.vertices)
        walks = self.walks or min(_WALKS, max(1, _READ // (vertices * self.length)))
        once = vertices * walks * self.length
        passes = self.passes or min(_PASSES, max(1.0, _READ // once))
        steps = self.steps or max(_STEPS, _STEPS * -(-int(once * passes) // (_AT_ONCE * _STEPS)))
        chosen = dataclasses.replace(self, walks=walks, passes=passes, steps=steps)
        if steps == _STEPS or self.steps:
            return chosen
        print(
            f"{walks} walks of {self.length} from each of {vertices:,} vertices, read "
            f"{'once' if passes == 1 else f'{passes:g} times'}, are {once * passes / 1e6:,.0f} million vertices in "
            f"{steps:,} steps; --walks, --length and --passes choose others",
            file=sys.stderr,
            flush=True,
        )
        return dataclasses.replace(chosen, evaluate_every=self.evaluate_every * (steps // _STEPS))

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "Word2Vec":
        return super().build(task if model is not None else task.by(self), base, model)
