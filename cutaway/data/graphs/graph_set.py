r"""Many graphs to learn from, each with a label or a number: molecules, proteins, networks of many groups.

    a CSV or Parquet file with a column of SMILES   molecules: see molecules.py
    a .txt of graphs                                "n label", then a line a vertex: tag, number and list of neighbours
    a folder of TU files                            NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt …
    a folder                                        a sub-folder a class, a file a graph
    in memory                                       a list of graphs of any kind, and targets; of networkx and PyG, the
                                                    target is an attribute of each graph (label, y …), if there is one

The graphs of all parts have the same features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import expect_choice
from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes
from cutaway.data.graphs.graph_folders import is_tu_folder, read_class_folders, read_tu_folder
from cutaway.data.graphs.graph_libraries import to_networkx
from cutaway.data.graphs.graph_sources import open_graph
from cutaway.data.graphs.molecules import read_molecules
from cutaway.data.graphs.raw_graph_sets import (
    NO_FEATURES,
    GraphFeatures,
    RawGraphSet,
    join_features,
    read_graph_set,
    write_graph_set,
)
from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.data.graphs.tagged_graphs import is_tagged_file, read_tagged_graphs
from cutaway.data.graphs.vertex_labels import read_labels
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_points, split_rows
from cutaway.data.stored import Stored

KIND = "graphs"  # of the samples


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Some graphs, their names, and a class (int64) or number (float32) of each; None without targets."""

    graphs: tuple[Graph, ...]
    names: tuple[str, ...]
    targets: Tensor | None

    def __len__(self) -> int:
        return len(self.graphs)

    def take(self, rows: Sequence[int] | Int[np.ndarray, "k"]) -> "GraphRows":
        """Some of these."""
        rows = [int(i) for i in rows]
        targets = None if self.targets is None else self.targets[rows]
        return GraphRows(tuple(self.graphs[i] for i in rows), tuple(self.names[i] for i in rows), targets)


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs in three parts; ``classes`` is empty if the targets are numbers. `open_test` opens the third."""

    name: str
    splits: Splits[GraphRows]
    classes: tuple[str, ...]
    target: str
    feature_names: tuple[str, ...]
    edge_feature_names: tuple[str, ...]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    features: GraphFeatures = NO_FEATURES

    @property
    def train(self) -> GraphRows:
        return self.splits.train

    @property
    def validation(self) -> GraphRows | None:
        return self.splits.validation

    def open_test(self) -> GraphRows:
        """The test graphs: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        sizes = np.array([graph.vertices for graph in self.train.graphs])
        lines = [
            f"{self.name}: graphs for {parts}; {sizes.min():,} to {sizes.max():,} vertices, mean {sizes.mean():.1f}",
            f"features: {len(self.feature_names):,} of vertices, {len(self.edge_feature_names):,} of edges",
        ]
        if self.classes and self.train.targets is not None:
            counts = torch.bincount(self.train.targets, minlength=len(self.classes)).tolist()
            shown = ", ".join(f"{c} {n:,}" for c, n in list(zip(self.classes, counts))[:10])
            lines.append(f"{len(self.classes):,} classes in training ({self.target}): {shown}")
        elif self.train.targets is not None:
            y = self.train.targets
            lines.append(f"numbers to predict ({self.target}): {y.min():.4g} to {y.max():.4g}, mean {y.mean():.4g}")
        notes = [f"{self.name}: {note}" for note in self.notes]
        return "\n".join([*lines, *notes, f"digest: sha256 {self.fingerprint.digest}"])


def read_graphs(
    source: Any,
    *,
    targets: Sequence[Any] | None = None,
    target: str = "",
    smiles: str = "",
    split: str = "random",
    validation: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    like: GraphFeatures | None = None,
    labelled: bool = True,
) -> GraphSet:
    """Many graphs for training: see above for the forms that they come in.

    ``target`` and ``smiles`` name columns of a table; ``targets`` are the labels of graphs in memory. ``split`` is
    "random", each class in its share, or "scaffold": molecules with one skeleton are in one part, rare skeletons last.
    ``like`` are the features of other graphs, which these then have too; labels are not read unless ``labelled``.
    """
    expect_shares(validation, test)
    expect_choice("split", split, ("random", "scaffold"))
    raw = open_graphs(source, targets, target, smiles, encoding, like)
    notes = list(raw.notes)
    classes, labels = _labels(raw, notes) if labelled else ((), None)
    if split == "scaffold" and raw.scaffolds is None:
        raise ValueError(f"a split by scaffold needs molecules, got {raw.name}; use split='random'")
    kept = np.arange(len(raw.graphs))
    if labels is not None:
        known = (labels >= 0 if classes else ~torch.isnan(labels)).numpy()
        kept = np.flatnonzero(known)
    rows = GraphRows(tuple(raw.graphs), tuple(raw.names), labels).take(kept)
    if not len(rows):
        raise ValueError(f"there must be graphs to learn from, got none in {raw.name}; give at least one with a label")
    if split == "scaffold":
        assert raw.scaffolds is not None
        parts = scaffold_parts([raw.scaffolds[i] for i in kept], validation, test)
    else:
        strata = rows.targets.numpy() if classes and rows.targets is not None else None
        parts = split_rows(len(rows), validation, test, seed, strata)
    train, held, last = (rows.take(part) for part in parts)
    if not len(train):
        raise ValueError(f"there must be a graph to train on, got none in {raw.name}; lower validation and test")
    return GraphSet(
        raw.name,
        Splits(raw.name, train, held if len(held) else None, (lambda: last) if len(last) else None),
        classes,
        raw.target,
        raw.feature_names,
        raw.edge_feature_names,
        {"training": len(train), "validation": len(held), "test": len(last)},
        raw.fingerprint,
        tuple(notes),
        raw.features,
    )


def scaffold_parts(scaffolds: Sequence[str], validation: float, test: float) -> tuple[np.ndarray, ...]:
    """Rows of train, validation and test: whole groups, the largest first, until a part is full (Wu et al. 2018).

    Of groups of one size that which begins last comes first, as in DeepChem: files are often sorted by label, and its
    order gives both labels to the test part of BBBP.

    >>> [part.tolist() for part in scaffold_parts(["a", "b", "a", "c"], 0.25, 0.25)]
    [[0, 2], [3], [1]]
    """
    groups: dict[str, list[int]] = {}
    for row, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(row)
    first, second = split_points(len(scaffolds), validation, test)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for group in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(parts[0]) + len(group) <= first:
            parts[0].extend(group)
        elif len(parts[0]) + len(parts[1]) + len(group) <= second:
            parts[1].extend(group)
        else:
            parts[2].extend(group)
    return tuple(np.array(sorted(part), np.int64) for part in parts)


def open_graphs(
    source: Any,
    targets: Sequence[Any] | None = None,
    target: str = "",
    smiles: str = "",
    encoding: str = "utf-8",
    like: GraphFeatures | None = None,
) -> RawGraphSet:
    """The graphs as they were read."""
    known = () if like is None else like.vertices
    if is_graph_list(source):
        return _in_memory(source, targets, target, like)
    found = resolve(source, KIND) if not isinstance(source, (list, tuple)) else source
    if isinstance(found, Stored):
        with found.as_file() as path:
            return read_graph_set(path)
    if isinstance(found, RawGraphSet):  # a sample
        return found
    if isinstance(found, Path):
        files = find_files(found)  # a pipe is none: it would be waited for
    if isinstance(found, Path) and found.is_dir():
        if is_tu_folder(files):
            return read_tu_folder(found.name, files, like)
        return read_class_folders(found.name, files, like)
    if isinstance(found, Path) and found.suffix == ".npz":
        return read_graph_set(found)
    if isinstance(found, Path) and is_tagged_file(found, encoding):
        return read_tagged_graphs(found, encoding, known)
    return read_molecules(found, target, smiles, encoding)


def is_graph_list(source: Any) -> bool:
    """Whether it is graphs in memory: a list of them, or a data set of PyG."""
    if isinstance(source, (list, tuple)):
        return bool(source) and not isinstance(source[0], (str, Path))
    return hasattr(source, "__getitem__") and "torch_geometric" in {
        c.__module__.split(".")[0] for c in type(source).__mro__
    }


def are_graphs(source: Any) -> bool:
    """Whether something in memory is many graphs: a list of them (with or without targets), or a data set of PyG."""
    if not is_graph_list(source):
        return False
    first = source[0]
    if isinstance(first, (list, tuple)) and isinstance(source, tuple) and len(source) == 2:
        return are_graphs(first)
    return any(hasattr(first, name) for name in ("edges", "edge_index", "tocsr"))


def _in_memory(
    graphs: Sequence[Any], targets: Sequence[Any] | None, target: str, like: GraphFeatures | None
) -> RawGraphSet:
    if targets is None and isinstance(graphs, tuple) and len(graphs) == 2 and is_graph_list(graphs[0]):
        graphs, targets = graphs
    graphs = list(graphs)
    if targets is None:
        called, targets = _own_targets(graphs, target)
    else:
        called = target or "target"
    if targets is not None and len(targets) != len(graphs):
        raise ValueError(f"targets must have one for each graph, got {len(targets)} for {len(graphs)} graphs")
    notes: list[str] = []
    if all(isinstance(graph, Graph) for graph in graphs):
        made, features = graphs, NO_FEATURES
    else:
        raws = [open_graph(to_networkx(graph) if isinstance(graph, Graph) else graph) for graph in graphs]
        made, features = join_features(raws, like, notes)
    widths = {None if graph.x is None else graph.x.shape[1] for graph in made}
    if len(widths) > 1:
        raise ValueError(f"graphs must have the same features, got {', '.join(map(str, widths))} of them; align them")
    width = next(iter(widths)) or 0
    names = features.vertices or tuple(f"feature_{i + 1}" for i in range(width))
    edge_x = made[0].edge_features
    edge_names = features.edges or tuple(f"feature_{i + 1}" for i in range(0 if edge_x is None else edge_x.shape[1]))
    labels = None if targets is None else np.asarray(targets.tolist() if hasattr(targets, "tolist") else list(targets))
    raw = RawGraphSet(
        "graphs", made, [str(i) for i in range(len(made))], labels, called, fingerprint_bytes(b""), names, edge_names,
        notes=notes, columns=features.columns,
    )  # fmt: skip
    raw.fingerprint = fingerprint_bytes(write_graph_set(raw))
    return raw


def _own_targets(graphs: Sequence[Any], target: str) -> tuple[str, list[Any] | None]:
    """The attribute of graphs that tells what is to be predicted, and its values; of PyG, y."""
    found: list[dict[str, Any]] = []
    for graph in graphs:
        own = getattr(graph, "graph", None)
        y: Any = getattr(graph, "y", None)
        alone = isinstance(y, Tensor) and y.numel() == 1
        found.append(dict(own) if isinstance(own, dict) else {"y": y.item()} if alone else {})
    for name in (target,) if target else ("label", "class", "target", "y"):
        if found and all(name in own for own in found):
            return name, [own[name] for own in found]
    if target:
        raise ValueError(f"target must be an attribute of every graph, got {target!r}, which some do not have; add it")
    return "", None


def _labels(raw: RawGraphSet, notes: list[str]) -> tuple[tuple[str, ...], Tensor | None]:
    if raw.labels is None:
        return (), None
    told: list[str] = []
    like = RawGraph(raw.name, raw.names, np.empty((0, 2), np.int64), raw.fingerprint, labels=raw.labels)
    found = read_labels(like, raw.target, told, what="graphs")
    notes += [note.replace("graphs have no label", "graphs have no label: left out") for note in told]
    return found


__all__ = [
    "KIND",
    "GraphRows",
    "GraphSet",
    "are_graphs",
    "is_graph_list",
    "open_graphs",
    "read_graphs",
    "scaffold_parts",
]
