r"""`open_data` opens data of any kind, and finds out whether it is text, a table, pairs, series, images, a graph …"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.data.checks import expect_choice
from cutaway.data.files import TextSource
from cutaway.data.images.image_data import ImageData, read_images
from cutaway.data.labelled.labelled_texts import LabelledTexts, read_labelled
from cutaway.data.samples.embedded import expect_data, list_samples
from cutaway.data.series.series_reading import read_series
from cutaway.data.series.series_table import SeriesTable
from cutaway.data.tables.reading import Table, read_table
from cutaway.data.text.corpus import Corpus, read_text
from cutaway.data.text.pairs import Pairs, read_pairs
from cutaway.data.text.tagged_sentences import TaggedText, read_tagged

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.data.graphs.graph_set import GraphSet


def _graph(data: Any, **options: Any) -> "GraphData":
    from cutaway.data.graphs.graph_data import read_graph  # graphs are tensors: torch waits until one is read

    return read_graph(data, **options)


def _graphs(data: Any, **options: Any) -> "GraphSet":
    from cutaway.data.graphs.graph_set import read_graphs

    return read_graphs(data, **options)


_READERS: dict[str, Any] = {
    "text": read_text,
    "table": read_table,
    "pairs": read_pairs,
    "labelled": read_labelled,
    "series": read_series,
    "images": read_images,
    "tagged text": read_tagged,
    "graph": _graph,
    "graphs": _graphs,
}
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".xls", ".ods")
_GRAPHS = (".graphml", ".gexf", ".gml", ".mtx")
_PACKED = (".gz", ".xz", ".bz2", ".zip")


def open_data(
    data: Any, kind: str | None = None, **options: Any
) -> "Corpus | Table | Pairs | LabelledTexts | SeriesTable | TaggedText | ImageData | GraphData | GraphSet":
    """Text, a table, pairs, labelled texts, series, tagged text, images or graphs, ready to train on.

    ``data`` is the name of a sample (see `list_samples`), a path (./name for a file that is called like a sample), a
    DataFrame or a `TextSource`. ``kind`` is "text", "table", "pairs", "labelled", "series", "tagged text", "images",
    "graph" or "graphs"; without it, it is found from ``data``. ``options`` go to `read_text`, `read_table`,
    `read_pairs`, `read_labelled`, `read_series`, `read_tagged`, `read_images`, `read_graph` or `read_graphs`.
    """
    if kind is None:
        expect_data(data)
        kind = find_kind(data)
    expect_choice("kind", kind, _READERS)
    return _READERS[kind](data, **options)


def find_kind(data: Any) -> str:
    """Whether data is text, a table or pairs: by its Python type, its sample's kind, or the ending of its file's name.

    >>> find_kind("adult.csv.gz"), find_kind("iris"), find_kind("novel.txt")
    ('table', 'table', 'text')
    """
    if isinstance(data, TextSource):
        return "text"
    if not isinstance(data, (str, os.PathLike)):
        return "table"
    kinds = {sample.name: sample.kind for sample in reversed(list_samples())}  # the first of a name counts
    endings = [ending.lower() for ending in Path(data).suffixes]
    while endings and endings[-1] in _PACKED:
        endings.pop()
    if ".conllu" in endings:
        return "tagged text"
    if endings and endings[-1] in _GRAPHS:
        return "graph"
    return kinds.get(os.fspath(data), "table" if endings and endings[-1] in _TABLES else "text")


__all__ = ["find_kind", "open_data"]
