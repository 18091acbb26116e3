r"""The task of giving whole graphs a class or a value: graphs in three parts, answers for new ones, how well they fit.

    answers       P(label) for every label, or the value in its own unit, a row for each graph
    metrics       of classes −log P, accuracy, F1, AUC; of values RMSE, MAE, R² (`outcomes.py`)
    baselines     a random forest that sees no edges, and always the same answer (`whole_graph_baselines.py`)

`cutaway train gin` learns it from nothing, `cutaway tune BASE --task graphs` from a model of many graphs.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from cutaway.atomic_files import read_json, write_json
from cutaway.data.graphs.graph_set import GraphRows, GraphSet, is_graph_list, read_graphs
from cutaway.data.graphs.raw_graph_sets import GraphFeatures
from cutaway.data.tables.endings import TABLES, file_ending
from cutaway.data.tables.table_files import load_frame
from cutaway.overriding import override
from cutaway.tasks.classes import label_rows
from cutaway.tasks.graphs.outcomes import Scale, outcome_metrics
from cutaway.tasks.graphs.whole_graph_baselines import graph_baselines
from cutaway.tasks.task import Files, Task

ABOUT = "graphs.json"  # in the run folder


class WholeGraphs(Task):
    """Graphs with a target each: molecules in a table, files of graphs, or graphs in memory.

    ``like`` are the features of other graphs, which these then have: those of the base of a tuned run.
    """

    kind: ClassVar[str] = "graphs/whole_graphs"
    parts: GraphSet

    def __init__(self, settings: Any, run: Any = None, like: GraphFeatures | None = None) -> None:
        super().__init__(settings, run)
        self.like = like

    @override
    @property
    def figure(self) -> str:  # type: ignore[override]
        """Accuracy of classes; of values the loss."""
        return "accuracy" if self.classes else "loss"

    @override
    @property
    def more_is_better(self) -> bool:  # type: ignore[override]
        return bool(self.classes)

    @override
    def read_parts(self) -> GraphSet:
        settings = self.settings
        parts = read_graphs(
            settings.data,
            target=settings.target,
            split=settings.split,
            validation=settings.validation,
            test=settings.test,
            seed=settings.seed,
            encoding=settings.encoding,
            like=self.like if self.run is None else self.features,
        )
        if parts.train.targets is None:
            raise ValueError(
                f"a model of graphs needs targets to learn from, got {parts.name} without any; name their column by "
                "target"
            )
        return parts

    @cached_property
    def about(self) -> dict[str, Any]:
        """What a run notes of its graphs, to read others as these: classes, target, features, the scale of values."""
        if self.run is not None:
            return read_json(self.file_of_run(ABOUT, "of graphs"), "classes", "target")
        parts = self.parts
        about: dict[str, Any] = {
            "classes": list(parts.classes),
            "target": parts.target,
            "features": parts.features.to_dict(),
        }
        if not parts.classes and parts.train.targets is not None:
            scale = Scale.of(parts.train.targets)
            about |= {"mean": scale.mean, "std": scale.std}
        return about

    @property
    def classes(self) -> Sequence[str]:
        """The labels; none of values."""
        return self.about["classes"]

    @property
    def features(self) -> GraphFeatures | None:
        """The features that the graphs have; None of a run that did not note them."""
        return GraphFeatures.from_dict(self.about["features"]) if "features" in self.about else None

    @property
    def scale(self) -> Scale | None:
        """The scale of values; None of classes."""
        return Scale(self.about["mean"], self.about["std"]) if "mean" in self.about else None

    @property
    def width(self) -> int:
        """Features of a vertex as a network reads them: without any, every vertex has a 1."""
        x = self.parts.train.graphs[0].x
        return 1 if x is None else x.shape[1]

    def held_out(self) -> GraphRows:
        """The validation graphs, for pictures; without any, those of training."""
        return self.parts.train if self.parts.validation is None else self.parts.validation

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        facts["loss_unit"] = "nats a graph" if self.classes else "squared deviations"
        if self.parts.validation is not None:
            facts["baselines"] = self.baselines(self.parts.validation)
        return facts

    @override
    def files(self) -> Files:
        return {ABOUT: lambda path: write_json(path, self.about)}

    def baselines(self, rows: GraphRows) -> dict[str, dict[str, Any]]:
        """Rules by name, each with its metrics on some graphs."""
        return graph_baselines(self.parts.train, rows, self.scale, len(self.classes))

    def metrics(self, outputs: Float[Tensor, "n o"], rows: GraphRows) -> dict[str, float]:
        """Metrics of logits, or of values in their own unit."""
        assert rows.targets is not None
        return outcome_metrics(outputs, rows.targets, self.scale)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test graphs, beside the forest that sees no edges."""
        rows = self.parts.open_test()
        naive = self.baselines(rows)["structure-blind"]["metrics"]
        name = "accuracy" if self.classes else "rmse"
        return self.metrics(learner.outputs(rows), rows) | {f"baseline_{name}": naive[name]}

    # What a person gives, and what they get.

    def inputs(self, source: Any) -> GraphRows:
        """New graphs with the features of training: a SMILES, several, a file or folder, or graphs in memory."""
        return read_new_graphs(source, self.settings.encoding, self.features)

    def answers(self, outputs: Float[Tensor, "n o"], rows: GraphRows) -> list[dict[str, Any]]:
        """For each graph its name, and its class with P(label) for every label, or its value."""
        if self.classes:
            names = [{"graph": str(name)} for name in rows.names]
            return label_rows(names, "class", self.classes, outputs.double().softmax(-1).numpy())
        target = self.about["target"] or "value"
        return [{"graph": name, target: value} for name, value in zip(rows.names, outputs[:, 0].tolist(), strict=True)]


def read_new_graphs(inputs: Any, encoding: str = "utf-8", like: GraphFeatures | None = None) -> GraphRows:
    """Graphs without targets: a SMILES or several, a table with a column of them, other files, or graphs in memory.

    ``like`` are the features of training, which they are given.
    """
    if isinstance(inputs, (str, os.PathLike)):
        path = Path(inputs)
        if path.is_file() and file_ending(path) in TABLES:
            inputs = _smiles_of(path, encoding)
        elif not path.exists():
            inputs = [os.fspath(inputs)]
    if isinstance(inputs, (list, tuple)) and not inputs:
        raise ValueError("there must be a graph to predict for, got none; give a SMILES, or a file of graphs")
    if not isinstance(inputs, (str, list, tuple, os.PathLike)) and not is_graph_list(inputs):
        inputs = [inputs]  # one graph
    parts = read_graphs(inputs, validation=0.0, test=0.0, encoding=encoding, like=like, labelled=False)
    width = len(parts.features.vertices)
    if like is not None and width != len(like.vertices):
        raise ValueError(
            f"graphs must have the {len(like.vertices)} features of training, got {width} in {parts.name}; give them "
            "in the same form"
        )
    return parts.train


def _smiles_of(path: Path, encoding: str) -> list[str]:
    """The column of SMILES of a table; whatever else it has is not looked at."""
    frame = load_frame(path, encoding)
    column = next((name for name in frame.columns if "smiles" in str(name).casefold()), None)
    if column is None:
        raise ValueError(
            f"a table of molecules must have a column of SMILES, got {', '.join(map(str, frame.columns[:6]))} in "
            f"{path.name}; call the column smiles"
        )
    return frame[column].dropna().astype(str).tolist()
