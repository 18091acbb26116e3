r"""The kind of some data, as far as its type, its name and its first lines tell.

    find_kind(data)                          text, table, graph …: by which reader `open_data` opens it
    labelled_texts(data), images(data) …     what was seen of that kind, in words, or "" if the data is of another

Data may be of several kinds: a table of texts and labels is a table, too. By the second the task of a tuning is chosen.
"""

import os
from pathlib import Path
from typing import Any

from cutaway.atomic_files import parse_json
from cutaway.data.files import TextSource, open_plain
from cutaway.data.samples.embedded import list_samples
from cutaway.data.tables.csv_files import find_separator, split_fields
from cutaway.data.tables.endings import CSV, JSON_LINES, PARQUET, SPREADSHEETS, TABLES, file_ending

_GRAPHS = (".graphml", ".gexf", ".gml", ".mtx")
_TAGGED = (".conllu", ".conll", ".bio", ".iob", ".iob2")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
_NEVER_TAGGED = (*_IMAGES, *JSON_LINES, *PARQUET, *SPREADSHEETS, ".npz", ".csv")
_FIRST_LINES = 1 << 16  # bytes by which tagged words are known
_BEGINNING = 1 << 20  # bytes in which the first line of a file is looked for
_CHATS: tuple[tuple[str, ...], ...] = (
    *(("messages",), ("conversations",), ("prompt", "response"), ("prompt", "completion")),
    *(("instruction", "output"), ("question", "answer")),
)

_PAIRS = (("anchor", "positive"), ("query", "passage"), ("query", "positive"), ("sentence1", "sentence2"))


def find_kind(data: Any) -> str:
    """The kind of data by its Python type, its sample's kind, or the ending of its file's name.

    >>> find_kind("adult.csv.gz"), find_kind("iris"), find_kind("novel.txt")
    ('table', 'table', 'text')
    """
    if isinstance(data, TextSource):
        return "text"
    if not isinstance(data, (str, os.PathLike)):
        return "table"
    if ".conllu" in [ending.lower() for ending in Path(data).suffixes]:
        return "tagged text"
    ending = file_ending(data)
    if ending in _GRAPHS:
        return "graph"
    kinds = {sample.name: sample.kind for sample in reversed(list_samples())}  # the first of a name counts
    return kinds.get(os.fspath(data), "table" if ending in (*TABLES, *SPREADSHEETS) else "text")


def labelled_texts(data: Any) -> str:
    """Tables with a text and a label column, folders with a folder of texts for each class, samples of that kind."""
    if not isinstance(data, (str, os.PathLike)):
        return "columns in memory"
    if is_sample(data, "labelled"):
        return "a sample of texts with labels"
    if chats(data) or text_pairs(data):
        return ""
    if file_ending(data) in (*TABLES, *SPREADSHEETS, *JSON_LINES) and not tagged_texts(data):
        return "a table of texts and labels"
    path = Path(data).expanduser()
    if path.is_dir() and _texts_below(path) and not tagged_texts(data):
        return "a folder of texts for each class"
    return ""


def tables(data: Any) -> str:
    """CSV and Parquet files, tables in memory, samples of tables."""
    if hasattr(data, "columns") or hasattr(data, "frame") or isinstance(data, dict):
        return "columns in memory"
    if not isinstance(data, (str, os.PathLike)):
        return ""
    if is_sample(data, "table"):
        return "a sample of a table"
    return "a table" if file_ending(data) in (*TABLES, *SPREADSHEETS) else ""


def tagged_texts(data: Any) -> str:
    """CoNLL-U and its like by their endings; other plain columns of words and tags by their lines."""
    if not isinstance(data, (str, os.PathLike)):
        return ""
    if is_sample(data, "tagged text"):
        return "a sample of tagged sentences"
    path = Path(data).expanduser()
    names: list[Path] = sorted(path.rglob("*")) if path.is_dir() else [path]
    if any(file_ending(name) in _TAGGED for name in names):
        return "words with a tag each"
    plain = [name for name in names if name.is_file() and file_ending(name) not in _NEVER_TAGGED]
    return "words with a tag each" if plain and _beginning_is_tagged(plain[0]) else ""


def _beginning_is_tagged(path: Path) -> bool:
    from cutaway.data.text.conllu import looks_tagged

    try:
        with open_plain(path) as stream:
            text = stream.read(_FIRST_LINES).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return False
    return looks_tagged(text.rsplit("\n", 1)[0] if len(text) >= _FIRST_LINES // 4 else text)


def plain_texts(data: Any) -> str:
    """Text files, folders of them, samples of text."""
    if not isinstance(data, (str, os.PathLike)):
        return ""
    if is_sample(data, "text"):
        return "a sample of plain text"
    path = Path(data).expanduser()
    if tagged_texts(data):
        return ""
    if path.is_dir():
        below = [one for one in path.iterdir() if not one.name.startswith(".")]
        return "a folder of plain text" if below and all(file_ending(one) == ".txt" for one in below) else ""
    return "plain text" if file_ending(data) in (".txt", ".md", "") and path.is_file() else ""


def chats(data: Any) -> str:
    """JSON lines, or a table, of messages or of prompts and answers."""
    if not isinstance(data, (str, os.PathLike)):
        return ""
    names = _columns(Path(data).expanduser())
    found = next((kind for kind in _CHATS if set(kind) <= names), None)
    return "" if found is None else f"conversations ({' and '.join(found)})"


def text_pairs(data: Any) -> str:
    """Tables whose columns are named as pairs are: anchor and positive, sentence1 and sentence2 …; or whose first row
    is two sentences, not names."""
    from cutaway.data.labelled.text_pairs import are_sentences

    if not isinstance(data, (str, os.PathLike)):
        return ""
    names = _columns(Path(data).expanduser())
    if are_sentences(list(names)):
        return "pairs of sentences"
    found = next((pair for pair in _PAIRS if set(pair) <= names), None)
    return "" if found is None else f"pairs of texts ({' and '.join(found)})"


def one_graph(data: Any) -> str:
    """Lists of edges, files of graphs, samples of a graph, graphs of networkx, SciPy and PyG."""
    if not isinstance(data, (str, os.PathLike)):
        parts = ("edges", "edge_index", "tocsr", "graph")
        return "a graph in memory" if any(hasattr(data, name) for name in parts) else ""
    if is_sample(data, "graph"):
        return "a sample of a graph"
    if many_graphs(data):
        return ""
    known = (".npz", ".graphml", ".gml", ".gexf", ".mtx", ".edges", ".edgelist", *TABLES, ".txt")
    return "a graph" if file_ending(data) in known else ""


def many_graphs(data: Any) -> str:
    """Tables of molecules, folders and files of many graphs, samples and lists of such."""
    from cutaway.data.graphs.graph_set import are_graphs

    if not isinstance(data, (str, os.PathLike)):
        return "graphs in memory" if are_graphs(data) else ""
    if is_sample(data, "graphs"):
        return "a sample of many graphs"
    path = Path(data).expanduser()
    if path.is_dir():
        named = ("_graph_indicator.txt", ".graphml", ".gml", ".gexf", ".mtx", ".npz", ".csv", ".edges")
        return "a folder of graphs" if any(one.name.endswith(named) for one in path.rglob("*")) else ""
    try:  # every byte is a letter of latin-1; what the file's encoding is, and what it cannot be, the task tells
        return "many graphs" if path.is_file() and looks_like_many(os.fspath(data), "latin-1") else ""
    except ValueError:
        return ""


def looks_like_many(source: Any, encoding: str = "utf-8") -> bool:
    """Whether data is many graphs: a sample of such, a folder, a .txt of tagged graphs, or a table with SMILES."""
    from cutaway.data.graphs.tagged_graphs import is_tagged_file  # graphs are tensors: torch waits until one is met
    from cutaway.data.tables.table_files import column_names

    if not isinstance(source, str):
        return False
    kinds = {sample.kind for sample in list_samples() if sample.name == source}
    path = Path(source).expanduser()
    if kinds or not path.exists():
        return kinds == {"graphs"}
    if path.is_dir() or is_tagged_file(path, encoding):
        return True
    if not any(ending in TABLES for ending in map(str.lower, path.suffixes)):
        return False
    return any("smiles" in name.casefold() for name in column_names(path, encoding, header=None))


def images(data: Any) -> str:
    """Folders of images, idx files, arrays, samples of images."""
    if not isinstance(data, (str, os.PathLike)):
        return "" if hasattr(data, "columns") or isinstance(data, dict) else "images in memory"
    if is_sample(data, "images"):
        return "a sample of images"
    path = Path(data).expanduser()
    if path.is_dir():
        found = any(file_ending(one) in _IMAGES or "idx3" in one.name for one in path.rglob("*"))
        return "a folder of images" if found else ""
    return "images" if file_ending(data) == ".npz" or "idx3" in path.name else ""


def is_sample(data: Any, kind: str) -> bool:
    """Whether there is an embedded sample of that name and kind, and no file of that name."""
    if Path(data).exists():
        return False
    return any(sample.name == os.fspath(data) and sample.kind == kind for sample in list_samples())


def _columns(path: Path) -> set[str]:
    """The names in the first row of a table or the first line of JSON lines."""
    if not path.is_file() or file_ending(path) not in (*CSV, *JSON_LINES):
        return set()
    with open_plain(path) as stream:
        first = stream.read(_BEGINNING).decode("utf-8", errors="replace").lstrip("\ufeff").split("\n")[0]
    if file_ending(path) in JSON_LINES:
        try:
            found = parse_json(first)
        except ValueError:
            return set()
        return set(found) if isinstance(found, dict) else set()
    separator = find_separator(first)
    rows = split_fields(first, "," if separator == " " else separator)  # a space is inside a name
    return {name.strip().casefold() for name in next(iter(rows), ())}


def _texts_below(path: Path) -> bool:
    below = [one for one in path.iterdir() if not one.name.startswith(".")]
    folders = [one for one in below if one.is_dir()]
    return len(folders) > 1 and all(file_ending(one) in (".txt", "") for folder in folders for one in folder.iterdir())


__all__ = [
    "chats",
    "find_kind",
    "images",
    "is_sample",
    "labelled_texts",
    "looks_like_many",
    "many_graphs",
    "one_graph",
    "plain_texts",
    "tables",
    "tagged_texts",
    "text_pairs",
]
