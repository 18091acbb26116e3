r"""`open_data` opens data of any kind by the reader of that kind: text, a table, pairs, series, images, a graph …"""

from typing import TYPE_CHECKING, Any

from cutaway.data.checks import expect_choice
from cutaway.data.images.image_data import ImageData, read_images
from cutaway.data.kinds import find_kind
from cutaway.data.labelled.labelled_texts import LabelledTexts, read_labelled
from cutaway.data.samples.embedded import expect_data
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


__all__ = [
    "open_data",
]
