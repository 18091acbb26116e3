r"""A graph in memory as the data of a recipe: the run keeps a copy, so that it can read it again.

cut.train("gcn", data=graph)      # of networkx, SciPy, PyG; pairs of vertices; `GraphData`; with vertices=DataFrame
cut.train("gin", data=[graph, …])  # with an attribute label each; or data=([graph, …], targets)
"""

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.data.graphs.raw_graph_sets import RawGraphSet

Data = TypeVar("Data")

STORED = "data.npz"  # the copy in the run folder


class GraphInMemory(str):
    """What the setting ``data`` becomes if it is given a graph: text, as config.json needs it, that holds the graph."""

    content: bytes  # of the copy
    many: bool = False  # whether it holds many graphs

    @classmethod
    def of(cls, data: "GraphData") -> "GraphInMemory":
        """The setting for a graph that was read."""
        import numpy as np
        import torch

        graph = data.graph
        arrays: dict[str, Any] = {
            "edges": graph.edges.T.numpy(),
            "names": np.array(data.names, dtype=np.str_),
        }
        if graph.x is not None and graph.x.layout == torch.sparse_csr:
            arrays |= {"x_indptr": graph.x.crow_indices().numpy(), "x_indices": graph.x.col_indices().numpy()}
            arrays |= {"x_data": graph.x.values().numpy(), "x_shape": np.array(graph.x.shape)}
        elif graph.x is not None:
            arrays["x"] = graph.x.numpy()
        for name, value in (("weights", graph.weights), ("edge_features", graph.edge_features)):
            if value is not None:
                arrays[name] = value.numpy()
        if data.targets is not None:
            labels = np.array(["", *data.classes], dtype=np.str_)
            arrays["target"] = np.array(data.target)
            arrays["y"] = labels[data.targets.numpy() + 1] if data.classes else data.targets.numpy()
        if data.edge_targets is not None:
            kinds = np.array(data.edge_classes, dtype=np.str_)
            arrays["edge_y"] = kinds[data.edge_targets.numpy()] if data.edge_classes else data.edge_targets.numpy()
            arrays["edge_target"] = np.array(data.edge_target)
        arrays["columns"] = np.array(json.dumps(data.columns.to_dict()))
        arrays["notes"] = np.array(data.notes, dtype=np.str_)  # of what was merged or left out before
        for part, rows in (("train", data.train), ("validation", data.validation)):
            if rows is not None and len(rows):
                arrays[part] = rows
        if data.splits.has_test:
            arrays["test"] = data.open_test()  # numbers of vertices alone: nothing is learned from them
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        held = cls("a graph in memory")
        held.content = file.getvalue()
        return held

    @classmethod
    def of_set(cls, raw: "RawGraphSet") -> "GraphInMemory":
        """The setting for many graphs that were read."""
        from cutaway.data.graphs.raw_graph_sets import write_graph_set

        held = cls("graphs in memory")
        held.content, held.many = write_graph_set(raw), True
        return held

    def read(self, read: Callable[[Any], Data]) -> Data:
        """The graph as the copy holds it, so that a run that reads the copy sees the same."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / STORED
            path.write_bytes(self.content)
            return read(path)

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)


__all__ = ["STORED", "GraphInMemory"]
