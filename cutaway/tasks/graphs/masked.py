r"""The task of restoring hidden vertices and edges of a graph, or of many graphs, none of which needs a label.

parts         what is hidden in training, evaluations and the test (`masking/parts.py`)
metrics       accuracy of kinds or cosine of features of hidden vertices, AUC of hidden edges (`masking/restoration.py`)
answers       what a vertex would be by its neighbours alone: its kinds with P(kind), or its strongest features
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.atomic_files import read_json, write_json
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.data.graphs.raw_graph_sets import GraphFeatures
from cutaway.data.kinds import looks_like_many
from cutaway.data.stored import find_stored
from cutaway.overriding import override
from cutaway.tasks.graphs.masking.parts import MaskedData, MaskedGraphs, OneMaskedGraph, with_ones
from cutaway.tasks.graphs.masking.restoration import HiddenParts, Kinds
from cutaway.tasks.graphs.vertex_names import find_vertices
from cutaway.tasks.graphs.whole_graphs import read_new_graphs
from cutaway.tasks.task import Files, Task

ABOUT = "features.json"  # in the run folder: the names of the features, and how they are scaled
_STRONGEST = 5  # features named of a vertex


class RestoredGraphs(Task):
    """A graph, or many, whose vertices or edges are hidden."""

    kind: ClassVar[str] = "graphs/masked"
    parts: MaskedData

    @cached_property
    def many(self) -> bool:
        """Whether the data is many graphs."""
        data, graphs = self.settings.data, self.settings.graphs
        if graphs != "auto" or find_stored(data) is not None:
            return graphs == "many"
        return looks_like_many(data, self.settings.encoding)

    @override
    def read_parts(self) -> MaskedData:
        return MaskedGraphs(self.settings) if self.many else OneMaskedGraph(self.settings)

    @cached_property
    def held(self) -> HiddenParts | None:
        """What is hidden in evaluations; None without a validation part."""
        return self.parts.held_parts()

    @override
    def facts(self) -> dict[str, Any]:
        settings, parts = self.settings, self.parts
        facts = super().facts()
        if settings.hide == "edges":
            facts["loss_unit"] = "nats a pair"
        elif settings.hide == "vertices":
            facts["loss_unit"] = "nats a kind" if parts.restoration.kinds else f"(1 − cosine)^{settings.power:g}"
        if self.held is not None:
            facts["baselines"] = parts.restoration.baselines(self.held, parts.known_rows())
        return facts

    @override
    def files(self) -> Files:
        return {ABOUT: lambda path: write_json(path, self.about)} | self.parts.files()

    @cached_property
    def about(self) -> dict[str, Any]:
        """What a run notes of the features of vertices: their names, which are kinds, and their scale."""
        if self.run is None:
            return self.parts.about()
        return read_json(self.file_of_run(ABOUT, "of hidden vertices"), "names", "kinds")

    @property
    def kinds(self) -> tuple[Kinds, ...]:
        """The kinds that are restored; none where features are."""
        return tuple(Kinds(k["name"], k["first"], k["last"], tuple(k["values"])) for k in self.about["kinds"])

    @property
    def features(self) -> GraphFeatures | None:
        """The features that many graphs have; None of a run that did not note them."""
        return GraphFeatures.from_dict(self.about["features"]) if "features" in self.about else None

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """What is restored of the test part, beside the best of the rules."""
        parts, hidden = self.parts, self.parts.test_parts()
        best: dict[str, float] = {}
        for rule in parts.restoration.baselines(hidden, parts.known_rows()).values():
            for name, value in rule["metrics"].items():
                best[f"baseline_{name}"] = max(value, best.get(f"baseline_{name}", value))
        return parts.restoration.metrics(learner.model, hidden) | best

    # What a person gives, and what they get.

    def inputs(self, source: Any) -> "Int[np.ndarray, 'n'] | GraphRows":
        """New graphs; of one graph, the numbers of the vertices that are named."""
        if not self.many:
            return find_vertices(source, self.parts.data.names)
        return with_ones(read_new_graphs(source, self.settings.encoding, self.features))

    def answers(self, restored: Float[Tensor, "h i"], rows: Any) -> list[dict[str, Any]]:
        """What each vertex would be by its neighbours: its kinds with P(kind), or its strongest features."""
        kinds = self.kinds
        words = restored_words(restored, kinds, tuple(self.about["names"]))
        if not self.many:
            names = self.parts.data.names
            return [{"vertex": str(names[i])} | one for i, one in zip(rows, words, strict=True)]
        vertices = [
            {"graph": name, "vertex": i} | {f"true {kind.name}": _kind_of(graph.x[i], kind) for kind in kinds}
            for graph, name in zip(rows.graphs, rows.names, strict=True)
            for i in range(graph.vertices)
        ]
        return [vertex | one for vertex, one in zip(vertices, words, strict=True)]


def restored_words(
    restored: Float[Tensor, "h i"], kinds: tuple[Kinds, ...], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Restored vertices in words: each kind and how probable it is; else the strongest features."""
    words = []
    for row in restored:
        if kinds:
            one: dict[str, Any] = {}
            for kind in kinds:
                p = row[kind.first : kind.last].double().softmax(-1)
                one |= {kind.name: kind.values[int(p.argmax())], f"P({kind.name})": float(p.max())}
        else:
            best = row.topk(min(_STRONGEST, len(row))).indices.tolist()
            one = {"features": ", ".join(names[i] if i < len(names) else str(i) for i in best)}
        words.append(one)
    return words


def _kind_of(x: Float[Tensor, "i"], kind: Kinds) -> str:
    return kind.values[int(x[kind.first : kind.last].argmax())]
