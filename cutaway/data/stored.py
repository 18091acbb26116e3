r"""Data in memory as a setting: a plain name for what is held, and the copy of it that a run folder keeps.

    cut.train("mlp", data=frame)        data="memory:table-5f1c…", in the run folder data.parquet

Settings are text, so a table becomes a name (`plain`), and whoever reads the name is given the copy (`find_stored`): a
run that reads its copy later sees the same. The name is made of the content: different tables never share one. What is
held lives as long as settings that name it (`hold`), and no longer.
"""

import hashlib
import io
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import write_bytes
from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_PREFIX = "memory:"
_HELD: "weakref.WeakValueDictionary[str, Stored]" = weakref.WeakValueDictionary()
_IN_MEMORY = ("data", "vertices")  # settings that may be given as objects


@dataclass(frozen=True, eq=False)
class Stored:
    """Data in memory: the content of its copy, the copy's name in a run folder, and how messages call it."""

    kind: str
    file: str
    content: bytes
    shown: str

    @property
    def name(self) -> str:
        """What the setting says."""
        digest = hashlib.sha256(self.shown.encode() + b"\0" + self.content)
        return f"{_PREFIX}{self.kind}-{digest.hexdigest()[:32]}"

    def fingerprint(self) -> Fingerprint:
        """That of the copy."""
        return fingerprint_bytes(self.content)

    def write(self, path: Path) -> None:
        """Writes the copy."""
        write_bytes(path, self.content)

    def frame(self) -> "pandas.DataFrame":
        """The table as the copy holds it."""
        return need("pandas", "tables", "reading a table").read_parquet(io.BytesIO(self.content))

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """The copy as a file, as long as the block lasts."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.file
            path.write_bytes(self.content)
            yield path


# The store -----------------------------------------------------------------------------------------------------------


def find_stored(data: Any) -> Stored | None:
    """What a name of data in memory stands for; None for paths, samples and all that is no such name."""
    if not isinstance(data, str) or not data.startswith(_PREFIX):
        return None
    held = _HELD.get(data)
    if held is None:
        raise ValueError(
            f"data in memory is held as long as its recipe, got {data}, which nothing holds any more; give the data"
        )
    return held


def shown(data: str) -> str:
    """A setting as messages and config.json show it: "a table in memory" for the name of one, else as it is."""
    held = find_stored(data)
    return data if held is None else held.shown


def hold(settings: Any) -> None:
    """What ``settings.data`` names is held as long as these settings live."""
    if (held := find_stored(settings.data)) is not None:
        weakref.finalize(settings, _let_go, held).atexit = False  # it refers to what is held until then


def _let_go(held: Stored) -> None:
    """Nothing is left to do: the last reference to what was held went with this call."""


@contextmanager
def plain(kind: type, given: Mapping[str, Any], others: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Settings of a recipe ``kind`` as plain values: paths as text, data in memory as its name.

    How a recipe keeps data in memory, its ``memory`` says: "module:function", given the recipe and all of its settings
    (those that are ``given``, and ``others`` that hold beside them), returns a `Stored` and settings that change with
    it. It is held while the block lasts: settings that are made in it hold it from then on.
    """
    settings = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in given.items()}
    held, place = None, getattr(kind, "memory", "")
    if place and any(not isinstance(settings.get(name, ""), str) for name in _IN_MEMORY):
        module, function = place.split(":")
        defaults = {field.name: field.default for field in fields(kind)}
        made, changed = getattr(import_module(module), function)(kind, {**defaults, **(others or {}), **settings})
        held = _HELD.setdefault(made.name, made)
        settings |= {**changed, "data": held.name}
    yield settings
    del held


# How each kind is kept -----------------------------------------------------------------------------------------------


def store_table(table: Any) -> Stored:
    """A DataFrame or a dict of columns."""
    from cutaway.data.tables.table_files import as_frame, as_parquet

    frame = as_frame(table)
    return Stored("table", "data.parquet", as_parquet(frame), str(frame.attrs.get("name", "a table in memory")))


def keep_table(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    return store_table(settings["data"]), {}


def keep_series(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """Series as `read_series` takes them: a table, a dict of arrays, an array."""
    from cutaway.data.series.series_reading import as_series_frame

    return store_table(as_series_frame(settings["data"])), {}


def keep_images(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """An array, a tensor, (images, labels), a dict of arrays or a torch data set."""
    from cutaway.data.images.image_arrays import from_memory, write_arrays

    return Stored("images", "data.npz", write_arrays(from_memory(settings["data"])), "images in memory"), {}


def keep_graph(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """One graph, with its table of vertices and its parts, as the recipe's ``read_graph`` reads them.

    The copy has the vertices, the target and the weights: settings that name them are empty from then on.
    """
    from cutaway.data.graphs.graph_data import write_graph

    data, vertices = settings["data"], settings["vertices"]
    reader: Any = kind(**{**settings, "data": "", "vertices": ""})
    found = reader.read_graph(data, vertices=None if isinstance(vertices, str) and not vertices else vertices)
    held = Stored("graph", "data.npz", write_graph(found), "a graph in memory")
    return held, {"vertices": "", "target": "", "weight": ""}


def store_graphs(graphs: Any) -> Stored:
    """Many graphs that were read, a `RawGraphSet`."""
    from cutaway.data.graphs.raw_graph_sets import write_graph_set

    return Stored("graphs", "data.npz", write_graph_set(graphs), "graphs in memory")


def keep_graphs(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """A list of graphs, a data set of PyG, or (graphs, targets); the copy has the target."""
    from cutaway.data.graphs.graph_set import open_graphs

    return store_graphs(open_graphs(settings["data"], target=settings["target"])), {"target": ""}


def keep_graph_or_graphs(kind: type, settings: Mapping[str, Any]) -> tuple[Stored, dict[str, Any]]:
    """One graph, or many where the data is a list of them and ``graphs`` does not say "one"."""
    from cutaway.data.graphs.graph_set import are_graphs, open_graphs

    if settings["graphs"] == "one" or not are_graphs(settings["data"]):
        return keep_graph(kind, settings)
    return store_graphs(open_graphs(settings["data"])), {"target": "", "graphs": "many"}


__all__ = [
    "Stored",
    "find_stored",
    "hold",
    "keep_graph",
    "keep_graph_or_graphs",
    "keep_graphs",
    "keep_images",
    "keep_series",
    "keep_table",
    "plain",
    "shown",
    "store_graphs",
    "store_table",
]
