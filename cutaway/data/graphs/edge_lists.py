r"""Lists of edges: a file or table with a row an edge, or an array of pairs.

    source,target,weight,kind        a header or none; comma, tab, semicolon or spaces between fields; # and % comment
    ann,bob,2.5,friend               the first two columns are the ends, others are weight and features of the edge

The ends are found by their names (source, from, u …), else they are the first two columns; the weight is the column
called weight, or an only other column without a name if it holds numbers.
"""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.data.checks import nearest
from cutaway.data.files import expect_encoding, open_plain, read_pieces
from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes, fingerprint_files
from cutaway.data.graphs.raw_graphs import RawGraph, expect_different_names, number_names
from cutaway.data.tables.csv_files import CsvTable, find_layout, parse_csv, split_fields
from cutaway.data.tables.reading import fingerprint_frame
from cutaway.data.tables.table_files import is_parquet, open_table
from cutaway.data.tables.text_columns import read_text_columns
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

SOURCES = ("source", "src", "from", "u", "head", "node1", "node_1", "vertex1", "start", "sender", "id1", "id_1", "a")
TARGETS = ("target", "dst", "to", "v", "tail", "node2", "node_2", "vertex2", "end", "receiver", "id2", "id_2", "b")
_WEIGHTS = ("weight", "weights", "w", "strength", "similarity")
_TIMES = ("time", "timestamp", "datetime", "valid_from", "valid_to", "start_time", "end_time")
_ARROWS = {"->", "-->", "=>", "→", "--", "-"}
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def read_edge_file(
    path: Path,
    weight: str | None = None,
    columns: Sequence[str] = (),
    encoding: str = "utf-8",
    header: bool | None = None,
) -> RawGraph:
    """The graph of a file with a row an edge. ``columns`` name its two ends where their names do not tell."""
    notes: list[str] = []
    if is_parquet(path):
        frame = open_table(path, encoding)
        assert not isinstance(frame, CsvTable)
        written = frame
    else:
        table, notes = _parse_edges(path, encoding, header)
        notes += [note for note in table.notes() if "header: " not in note]
        decimal = "," if table.layout.separator == ";" else "."
        frame, written = table.frame, table.frame
        ends = _find_ends(list(frame.columns), columns, path.name)
        missing = [name for name in ends if frame[name].isna().any()]
        if missing:  # NA, null and nan are names: only an empty field is none
            fields = table.as_names(missing)
            frame = frame.assign(**{name: fields[name].where(fields[name].str.strip() != "", None) for name in missing})
        if not table.layout.header and set(frame[ends[1]].astype(str)) <= _ARROWS and len(frame.columns) > 2:
            notes.append(f"column 2 holds {frame[ends[1]].iloc[0]!r} alone: left out")
            frame = frame.drop(columns=[ends[1]])
            ends = _find_ends(list(frame.columns), columns, path.name)
        rest = [name for name in frame.columns if name not in ends]
        if rest:  # names are names: only what comes beside them may be numbers in some notation
            frame = frame.assign(**dict(read_text_columns(frame[rest], table.as_written, decimal)[0].items()))
        odd = [
            name for name in ends if frame[name].dtype.kind in "fb" and name not in missing
        ]  # 1.10 and True, as they are written
        written = frame.assign(**dict(table.as_written(odd).items())) if odd else frame
    return edges_of_frame(frame, path.name, fingerprint_files({path.name: path}), weight, columns, written, notes)


def _parse_edges(path: Path, encoding: str, header: bool | None) -> tuple[CsvTable, list[str]]:
    """The table of an edge list: without its comments, and with a header only where the first row cannot be an edge."""
    expect_encoding(encoding)
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    notes: list[str] = []
    if "#" in text or "%" in text:
        text = _without_comments(text, path.name, notes)
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        text = _TRAILING.sub("", text)
    if not text.strip():
        raise ValueError(f"a graph needs at least one edge or a table of vertices, got {path.name}, which is empty")
    if header is None:
        layout = find_layout(text, path.name)
        header = layout.header and _are_names(text, layout.separator, layout.names)
        first = ", ".join(layout.names[:3]) if layout.header else ""
        if header:
            known = len(layout.names) > 1 and _say_ends(*layout.names[:2])
            notes += (
                []
                if known
                else [f"header: the first row ({first}) is taken for names; if it is an edge, use --no-header"]
            )
            if layout.names[0].startswith(("#", "%")):
                text = text.lstrip().lstrip("#%")
        elif layout.header:
            notes.append(f"no header: the first row ({first}) is taken for an edge; if it holds names, use --header")
    return parse_csv(text, path.name, None, header), notes


_ENDS = ({"source", "src", "from", "sender"}, {"target", "dst", "dest", "destination", "to", "receiver"})
_OTHERS = (
    "who",
    "person",
    "user",
    "follower",
    "citing",
    "parent",
    "whom",
    "friend",
    "item",
    "followee",
    "cited",
    "child",
)
_KNOWN_ENDS = {*SOURCES, *TARGETS, *_OTHERS, "film", "movie", "author", "paper", "name", "name1", "name2"}


def _bare(name: str) -> str:
    return name.lstrip("#% ").casefold()


def _words(name: str) -> set[str]:
    """The words of a name: Source ID and FromNodeId have two and three."""
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)}


def _say_ends(one: str, two: str) -> bool:
    """Whether two names of columns say source and target, in one word or with others, as FromNodeId and ToNodeId."""
    return bool(_words(one) & _ENDS[0]) and bool(_words(two) & _ENDS[1])


def _without_comments(text: str, name: str, notes: list[str]) -> str:
    """The text without lines that are comments: # or % and a space, or another count of fields than the rows have.

    A line whose # or % begins a name, as #python,#ai, is a row.
    """
    lines = text.split("\n")
    marked = [i for i, line in enumerate(lines) if line.lstrip(" \t").startswith(("#", "%"))]
    if not marked:
        return text
    places = set(marked)
    bare = [line for i, line in enumerate(lines) if i not in places and line.strip()]
    tight = [i for i in marked if not re.match(r"[ \t]*[#%]+(?:[ \t]|$)", lines[i])]
    like = "\n".join(bare or [lines[i] for i in tight])
    rows, layout = set[int](), None
    if tight and like.strip():
        layout = find_layout(like, name)
        counts = [len(row) for row in split_fields("\n".join(lines[i].strip() for i in tight), layout.separator)]
        rows = (
            {i for i, count in zip(tight, counts) if count == len(layout.names) > 1}
            if len(counts) == len(tight)
            else set()
        )
    left = [i for i in marked if i not in rows]
    told = [i for i in sorted(rows) if layout and not _say_ends(*lines[i].split(layout.separator)[:2])]
    if told and len(told) < sum(bool(line.strip()) for line in lines):
        many = len(told) > 1
        notes.append(
            f"{len(told):,} line{'s that begin' if many else ' that begins'} with # or % taken for edges, the first "
            f"{lines[told[0]].strip()[:40]!r}; comments have a space behind it"
        )
    if left and len(left) == len([line for line in lines if line.strip()]) and len(left) > 1:
        raise ValueError(
            f"a graph needs at least one edge, got {name}, which is empty but for comments: its {len(left):,} lines "
            "begin with # or %; write names that begin so without a space after it, or in quotes"
        )
    if left:
        shown = lines[left[0]].strip()[:40]
        notes.append(f"{len(left):,} line{'s' * (len(left) > 1)} left out as comments, the first {shown!r}")
    gone = set(left)
    return "\n".join(line for i, line in enumerate(lines) if i not in gone)


def _are_names(text: str, separator: str, names: Sequence[str]) -> bool:
    """Whether the first row is names of columns, not an edge.

    It is if it says source and target, or weight or time behind the ends; else not if one of its ends is an end further
    down, too, or looks like one there (node1 above node3); else if there are numbers below its words, or if both
    ends are usual names of columns. Names of one letter, as u and v, count only where no end below has one letter.
    """
    if len(names) < 2:
        return True
    below = text.find("\n") + 1 or len(text)
    one, two = (_bare(name) for name in names[:2])
    rest = [_bare(name) for name in names[2:]]
    if any(_say_ends(a, b) for a, b in pairwise(names)) or any(name in (*_WEIGHTS, *_TIMES) for name in rest):
        return True
    if not text[below:].strip() or names[1] == f"{names[0]}_2":  # a row alone, or a self-loop, is an edge
        return {one, two} <= _KNOWN_ENDS and min(len(one), len(two)) > 1 and one != two
    if any(_is_a_field(name, text, separator, below) for name in names[:2]):
        return False
    rows = split_fields("\n".join(text[below:].split("\n", 100)[:100]), separator)
    rows = [row for row in rows if len(row) >= 2]
    ends = {_shape(row[k]) for row in rows for k in (0, 1)}
    if any(_shape(name) in ends for name in names[:2] if any(letter.isdigit() for letter in name)):
        return False
    if any(
        _is_numeral(row[k]) for row in rows for k in range(len(row)) if k < len(names) and not _is_numeral(names[k])
    ):
        return True
    if len(one) == 1 or len(two) == 1:
        return {one, two} <= _KNOWN_ENDS and not any(len(end) == 1 for end in ends)
    return {one, two} <= _KNOWN_ENDS


def _shape(field: str) -> str:
    """A field with 0 for each of its numbers: node12 and node7 look alike."""
    return re.sub(r"[0-9]+", "0", field.strip().casefold())


def _is_numeral(field: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?", field.strip()) is not None


def _is_a_field(name: str, text: str, separator: str, start: int) -> bool:
    """Whether a name stands alone in a field of the text from ``start`` on, quoted or not."""
    around, marks = ' \t\r"'.replace(separator, ""), separator + "\n"
    while name and (start := text.find(name, start)) >= 0:
        before, after = start - 1, start + len(name)
        while text[before] in around:  # a field comes after a line: there is a mark before it
            before -= 1
        while after < len(text) and text[after] in around:
            after += 1
        if text[before] in marks and (after == len(text) or text[after] in marks):
            return True
        start += len(name)
    return False


def edges_of_frame(
    frame: "pandas.DataFrame",
    name: str,
    fingerprint: Fingerprint | None = None,
    weight: str | None = None,
    columns: Sequence[str] = (),
    written: "pandas.DataFrame | None" = None,
    notes: Sequence[str] = (),
) -> RawGraph:
    """The graph of a table with a row an edge; ``written`` is the same table as text, for names such as 007."""
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    ends = _find_ends(list(frame.columns), columns, name)
    written = frame if written is None else written.set_axis(list(map(str, written.columns)), axis=1)
    for column in ends:
        missing = written[column].isna().to_numpy()
        if missing.any():
            raise ValueError(
                f"every edge must have two ends, got none in row {int(np.argmax(missing)) + 1:,} of column {column!r} "
                f"of {name}; fill it in, or leave the row out"
            )
    _expect_still(frame, ends, name)
    told = list(notes)
    frame = _without_row_numbers(frame, ends, told)
    found = _find_weight(frame, ends, weight, name)
    weights = None if found is None else frame[found].to_numpy(np.float64, na_value=np.nan)
    if found is not None and weight is None:
        told.append(f"weights: column {found!r}")
    rest = [column for column in frame.columns if column not in (*ends, found)]
    if all(written[column].dtype.kind in "iu" for column in ends):
        names, pairs = _number_whole([written[column].to_numpy() for column in ends])
    else:
        columns_of_names = whole_names([as_names(written[column]) for column in ends])
        names, pairs = number_vertices(columns_of_names)
    return RawGraph(
        name,
        names,
        pairs,
        fingerprint_frame(frame) if fingerprint is None else fingerprint,
        weights,
        edge_table=frame[rest].reset_index(drop=True) if rest else None,
        notes=told,
    )


def _without_row_numbers(frame: "pandas.DataFrame", ends: tuple[str, str], notes: list[str]) -> "pandas.DataFrame":
    """The table without a first column that has no name and counts the rows, as pandas writes its index."""
    first = str(frame.columns[0])
    if first in ends or first not in ("column_1", "Unnamed: 0", "", "index") or frame[first].dtype.kind not in "iu":
        return frame
    if not (np.diff(frame[first].to_numpy()) == 1).all() or int(frame[first].iloc[:1].max()) not in (0, 1):
        return frame
    notes.append(f"column {first!r} counts the rows: left out")
    return frame.drop(columns=[first])


def as_names(column: "pandas.Series") -> np.ndarray:
    """The names of vertices in a column as text: 3.0 is 3 where a gap in the data made floats of whole numbers."""
    if column.dtype.kind == "f":
        values = column.to_numpy()
        if np.isfinite(values).all() and (values % 1 == 0).all():
            return values.astype(np.int64).astype(str).astype(object)
    texts = column.astype(str).str.strip()
    if len(texts) and texts.iloc[0].endswith(".0") and texts.str.fullmatch(r"-?\d+\.0").all():
        texts = texts.str[:-2]
    return texts.to_numpy(object)


def whole_names(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Names of which 2.0 is 2, where 2 is a name too or all names with a point are such; 1.10 stays as it is written.

    >>> [column.tolist() for column in whole_names([np.array(["2", "x"], object), np.array(["2.0", "1.10"], object)])]
    [['2', 'x'], ['2', '1.10']]
    """
    pointed = {name for column in columns for name in column.tolist() if "." in name}
    whole = {name: name.split(".")[0] for name in pointed if re.fullmatch(r"-?[0-9]+\.0+", name)}
    if not whole:
        return list(columns)
    if len(whole) < len(pointed):
        known = {name for column in columns for name in column.tolist()}
        whole = {name: plain for name, plain in whole.items() if plain in known}
    return [np.array([whole.get(name, name) for name in column.tolist()], object) for column in columns]


def number_vertices(columns: Sequence[np.ndarray]) -> tuple[list[str], np.ndarray]:
    """The different names, and the number of each in the columns: whole numbers by size, words as they first appear.

    >>> number_vertices([np.array(["10", "9"], object), np.array(["9", "2"], object)])[0]
    ['2', '9', '10']
    """
    pd = need("pandas", "tables", "reading a table")
    flat = np.stack(columns, 1).reshape(-1) if len(columns[0]) else np.empty(0, object)
    codes, different = pd.factorize(flat)
    names = [str(name) for name in different]
    if names and all(re.fullmatch(r"-?\d{1,18}", name) for name in names):
        order = sorted(range(len(names)), key=lambda i: (int(names[i]), names[i]))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        codes, names = place[codes], [names[i] for i in order]
    return names, codes.astype(np.int64).reshape(-1, len(columns))


def _number_whole(columns: Sequence[np.ndarray]) -> tuple[list[str], np.ndarray]:
    """As `number_vertices`, of whole numbers."""
    pd = need("pandas", "tables", "reading a table")
    codes, different = pd.factorize(np.stack(columns, 1).reshape(-1), sort=True)
    return list(map(str, different.tolist())), codes.astype(np.int64, copy=False).reshape(-1, len(columns))


def _find_ends(names: list[str], asked: Sequence[str], source: str) -> tuple[str, str]:
    if len(names) < 2:
        raise ValueError(
            f"a list of edges must have two columns, the ends of each edge, got {len(names)} in {source}; look for the "
            "separator between its fields"
        )
    if asked:
        for name in asked:
            if name not in names:
                raise ValueError(
                    f"the ends of edges must be columns of {source}, got {name!r}; the nearest are: "
                    f"{nearest(name, names)}"
                )
        if len(set(asked)) != 2:
            raise ValueError(f"an edge has two ends, got {len(set(asked))} columns for them; name two different ones")
        return asked[0], asked[1]
    folded = {name.casefold(): name for name in reversed(names)}
    one = next((folded[word] for word in SOURCES if word in folded), None)
    two = next((folded[word] for word in TARGETS if word in folded), None)
    if one and two:
        return one, two
    said = [[name for name in names if _words(name) & words] for words in _ENDS]
    if all(len(columns) == 1 for columns in said) and said[0] != said[1]:
        return said[0][0], said[1][0]
    return names[0], names[1]


def _find_weight(frame: "pandas.DataFrame", ends: tuple[str, str], asked: str | None, source: str) -> str | None:
    rest = [name for name in frame.columns if name not in ends]
    if asked is not None:
        if not asked:
            return None
        if asked not in rest:
            raise ValueError(
                f"weight must be a column of {source}, got {asked!r}; the nearest are: {nearest(asked, rest) or 'none'}"
            )
        if frame[asked].dtype.kind not in "iufb":
            raise ValueError(
                f"weights must be numbers, got {str(frame[asked].iloc[0])!r} in column {asked!r} of {source}; "
                "give another column, or none"
            )
        return asked
    numbers = [name for name in rest if frame[name].dtype.kind in "iuf"]
    named = [name for name in numbers if name.casefold() in _WEIGHTS]
    if named:
        return named[0]
    for name in rest:
        if name.casefold() in ("weight", "weights"):
            values = need("pandas", "tables", "reading a table").to_numeric(frame[name], errors="coerce")
            odd = frame[name][values.isna() & frame[name].notna()]
            shown = (
                f"{odd.iloc[0]!r} in row {odd.index[0] + 1:,}"
                if len(odd)
                else f"text such as {str(frame[name].iloc[0])!r}"
            )
            raise ValueError(
                f"weights must be numbers, got {shown} of column {name!r} of {source}; mend it, or call the column "
                "something else"
            )
    return rest[0] if len(rest) == 1 and numbers and re.fullmatch(r"column_\d+", rest[0]) else None


def _expect_still(frame: "pandas.DataFrame", ends: tuple[str, str], source: str) -> None:
    """Graphs that change over time are not read."""
    timed = [name for name in frame.columns if name not in ends and name.casefold() in _TIMES]
    if timed:
        raise ValueError(
            f"a graph here does not change over time, got edges with a column {timed[0]!r} in {source}; leave that "
            "column out to have all edges at once, or make one graph a period"
        )


def edges_of_array(array: Any, name: str = "edges", vertices: int | None = None, index: bool | None = None) -> RawGraph:
    """The graph of an array of pairs, (edges, 2) or (2, edges), or of a list of tuples: see `_edges_of_tuples`.

    Numbers are those of vertices from 0, others are names. ``index`` says which of the two an array of shape (2, 2) is.
    """
    if isinstance(array, (list, tuple)) and array and all(isinstance(row, (list, tuple)) for row in array):
        if any(isinstance(row, tuple) for row in array):
            return _edges_of_tuples(array, name, vertices)
        named = not all(isinstance(end, _NUMBERS) for row in array for end in row[:2])
        if [len(row) for row in array] != [2, 2]:
            if named:
                return _edges_of_tuples(array, name, vertices)
            _expect_pairs(array, name)
    pairs = np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if pairs.shape == (2, 2) and index is None and _two_readings(pairs):
        raise ValueError(
            f"an array of shape (2, 2) must say which way it lists its edges, got {pairs.tolist()} in {name}, whose "
            "rows or whose columns may be the edges; give tuples, [(source, target), …], or PyG's Data(edge_index=…)"
        )
    if index or (index is None and pairs.ndim == 2 and pairs.shape[1] != 2 and pairs.shape[0] == 2):
        pairs = pairs.T
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"an array of edges must have shape (edges, 2), got {pairs.shape}; give two ends a row, and weights as the "
            "third of a tuple, (source, target, weight), or as a column of a table"
        )
    if pairs.dtype.kind not in "iu":
        if pairs.dtype.kind == "f" and np.isfinite(pairs).all() and (pairs % 1 == 0).all():
            raise ValueError(
                f"the ends of edges must be whole numbers, got {pairs.dtype}; convert them by .astype(int), and give "
                "weights apart"
            )
        if pairs.dtype.kind in "fc":
            raise ValueError(
                f"the ends of edges must be whole numbers or names, got {pairs.dtype} such as {pairs.flat[0]} in "
                f"{name}; give weights apart, or a square matrix of 3 or more vertices"
            )
        frame = need("pandas", "tables", "names of vertices").DataFrame(pairs, columns=["source", "target"])
        return edges_of_frame(frame, name)
    pairs = np.ascontiguousarray(pairs, np.int64)
    count = int(pairs.max()) + 1 if len(pairs) else 0
    if len(pairs) and pairs.min() < 0:
        raise ValueError(f"vertices are numbered from 0, got {int(pairs.min())} in {name}; number them anew")
    n = count if vertices is None else vertices
    if n < count:
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {count - 1} in {name} where there are {n} (0 to "
            f"{n - 1}); raise vertices, or mend the edge"
        )
    names = number_names(n, name, pairs.size if vertices is None else None)
    return RawGraph(name, names, pairs, fingerprint_bytes(pairs.tobytes()))


def _two_readings(pairs: np.ndarray) -> bool:
    """Whether the rows and the columns of an array are different edges."""
    return set(map(tuple, pairs.tolist())) != set(map(tuple, pairs.T.tolist()))


def _expect_pairs(rows: Sequence[Sequence[Any]], name: str) -> None:
    """Lists of numbers must be pairs, or two long rows as edge_index is written."""
    widths = {len(row) for row in rows}
    if widths == {2} or widths == {0} or (len(rows) == 2 and len(widths) == 1 and widths != {3}):
        return
    if len(widths) > 1:
        said = f"rows of {' and '.join(map(str, sorted(widths)[:3]))} numbers"
    elif widths == {len(rows)} and len(rows) > 3:
        said = f"{len(rows)} rows of {len(rows)}"
    else:
        said = f"{list(rows[0])}"
    raise ValueError(
        f"lists of numbers must be edges (source, target), got {said} in {name}; give edges with weights as tuples "
        "(source, target, weight), and a matrix by numpy.array"
    )


_NUMBERS = (int, float, np.integer, np.floating)


def _edges_of_tuples(rows: Sequence[Sequence[Any]], name: str, vertices: int | None) -> RawGraph:
    """The graph of (source, target), (source, target, weight), or networkx's (source, target, attributes) and
    (source, target, key, attributes)."""
    lengths = {len(row) for row in rows}
    if not lengths <= {2, 3, 4}:
        odd = next(i for i, row in enumerate(rows) if len(row) not in (2, 3, 4))
        raise ValueError(
            f"an edge must be (source, target), with a weight or a dict of attributes after it, got {len(rows[odd])} "
            f"entries in row {odd + 1:,} of {name}; write it so"
        )
    if len(lengths) > 1:
        odd = next(i for i, row in enumerate(rows) if len(row) == min(lengths))
        raise ValueError(
            f"every edge must have a weight or attributes where some have, got none in row {odd + 1:,} of {name}; "
            "add them"
        )
    found = _numbered_or_named([(row[0], row[1]) for row in rows], name, vertices)
    if lengths == {2}:
        return found
    rest = [row[-1] for row in rows]
    if all(isinstance(value, dict) for value in rest):
        frame = need("pandas", "tables", "attributes of edges").DataFrame(rest)
        if "weight" in frame:
            found.weights = _weights(frame["weight"].tolist(), name)
        found.edge_table = frame.drop(columns=["weight"], errors="ignore") if set(frame.columns) - {"weight"} else None
        content = frame.to_csv().encode()
    elif lengths == {4}:
        other = next(row for row in rows if not isinstance(row[-1], dict))
        raise ValueError(
            f"an edge of four must be (source, target, key, attributes), with a dict last, got {other!r} in {name}; "
            "give other features in a table"
        )
    else:
        found.weights = _weights(rest, name)
        content = found.weights.tobytes()
    found.fingerprint = fingerprint_bytes(found.fingerprint.digest.encode() + content)
    return found


def _weights(values: Sequence[Any], name: str) -> np.ndarray:
    odd = next((value for value in values if isinstance(value, str) or not _is_number(value)), None)
    if odd is not None or any(value is None for value in values):
        raise ValueError(
            f"the third of an edge must be its weight, a number, got {odd!r} in {name}; give other features in a table"
        )
    return np.array([float(value) for value in values])


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _numbered_or_named(ends: list[tuple[Any, Any]], name: str, vertices: int | None) -> RawGraph:
    """The graph of pairs: whole numbers are those of vertices from 0, others are names."""
    flat = [end for pair in ends for end in pair]
    if all(isinstance(end, _NUMBERS) and not isinstance(end, bool) for end in flat):
        return edges_of_array(np.array(flat).reshape(-1, 2), name, vertices, False)
    try:
        different = dict.fromkeys(end for end in flat if end is not None)
        twins = {end for end in different if isinstance(end, str) and end.split(".")[0] in different}
        whole = {end for end in twins if re.fullmatch(r"-?[0-9]+\.0+", end)}  # "2.0" beside "2", as in a file
        expect_different_names([end for end in different if end not in whole], name)
    except TypeError:
        raise ValueError(
            f"the names of vertices must be text, numbers or tuples, got {flat[0]!r} in {name}; convert them by str"
        ) from None
    pd = need("pandas", "tables", "names of vertices")
    columns = {key: pd.Series([pair[i] for pair in ends], dtype=object) for i, key in enumerate(("source", "target"))}
    return edges_of_frame(pd.DataFrame(columns), name)


def is_path(source: Any) -> bool:
    """Whether the data is a name or path."""
    return isinstance(source, (str, os.PathLike))


__all__ = [
    "as_names",
    "edges_of_array",
    "edges_of_frame",
    "is_path",
    "number_vertices",
    "read_edge_file",
    "whole_names",
]
