"""Edge lists as people have them: separators, headers, comments, names, weights, packed, odd."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import cutaway as cut
from cutaway.data.graphs.edge_lists import edges_of_array, number_vertices, read_edge_file

EDGES = [("ann", "bob"), ("bob", "cid"), ("ann", "cid")]


def written(folder: Path, text: str, name: str = "edges.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def pairs_of(path: Path, **options: object) -> list[tuple[str, str]]:
    raw = read_edge_file(path, **options)
    return [(raw.names[i], raw.names[j]) for i, j in raw.pairs]


@pytest.mark.parametrize("separator", [",", "\t", ";", " ", "  ", "|"])
@pytest.mark.parametrize("header", ["source{}target\n", "u{}v\n", ""])
@pytest.mark.parametrize("before", ["", "# a comment\n% another\n", "\ufeff"])
def test_forms_of_a_list(tmp_path: Path, separator: str, header: str, before: str):
    text = before + header.format(separator) + "".join(f"{a}{separator}{b}\n" for a, b in EDGES)
    assert pairs_of(written(tmp_path, text)) == EDGES


def test_packed_and_parquet(tmp_path: Path):
    text = "".join(f"{a}\t{b}\n" for a, b in EDGES)
    (tmp_path / "edges.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "edges.tsv.xz").write_bytes(lzma.compress(text.encode()))
    pd.DataFrame(EDGES, columns=["from", "to"]).to_parquet(tmp_path / "edges.parquet")
    for name in ("edges.tsv.gz", "edges.tsv.xz", "edges.parquet"):
        assert pairs_of(tmp_path / name) == EDGES


def test_encoding_and_quotes(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_bytes('source,target\n"Müller, Ann",Bob\nBob,"Weiß"\n'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"must be utf-8, got byte 0xfc at position 16, in line 2 of edges\.csv"):
        read_edge_file(path)
    assert pairs_of(path, encoding="latin-1") == [("Müller, Ann", "Bob"), ("Bob", "Weiß")]


def test_whole_numbers_are_ordered_by_size_and_codes_stay_text(tmp_path: Path):
    raw = read_edge_file(written(tmp_path, "10 9\n9 2\n"))
    assert raw.names == ["2", "9", "10"]
    assert raw.pairs.tolist() == [[2, 1], [1, 0]]
    assert read_edge_file(written(tmp_path, "a,b\n007,7\n7,08\n")).names == ["007", "7", "08"]


def test_a_first_row_that_may_be_an_edge_is_one(tmp_path: Path):
    """`ann,bob` is no header where ann or bob has other edges; two words that come only once are taken for names."""
    assert pairs_of(written(tmp_path, "ann,bob\nbob,cid\n")) == [("ann", "bob"), ("bob", "cid")]
    assert pairs_of(written(tmp_path, "person,friend\nbob,cid\n")) == [("bob", "cid")]
    assert pairs_of(written(tmp_path, "person,friend\nbob,cid\n"), header=False)[0] == ("person", "friend")


def test_ends_and_weights_by_name(tmp_path: Path):
    path = written(tmp_path, "kind,weight,target,source\nfriend,2.5,bob,ann\nfoe,1,cid,bob\n")
    raw = read_edge_file(path)
    assert [(raw.names[i], raw.names[j]) for i, j in raw.pairs] == [("ann", "bob"), ("bob", "cid")]
    assert raw.weights.tolist() == [2.5, 1]
    assert list(raw.edge_table.columns) == ["kind"]
    assert "weights: column 'weight'" in raw.notes
    assert read_edge_file(path, weight="").weights is None
    assert pairs_of(path, columns=("target", "source"))[0] == ("bob", "ann")


def test_a_third_column_without_a_name_is_the_weight(tmp_path: Path):
    raw = read_edge_file(written(tmp_path, "1 2 0.5\n2 3 4\n"))
    assert raw.weights.tolist() == [0.5, 4]
    assert read_edge_file(written(tmp_path, "1 2 x\n2 3 y\n")).weights is None


def test_decimal_commas(tmp_path: Path):
    assert read_edge_file(written(tmp_path, "source;target;weight\na;b;1,5\nb;c;2,25\n")).weights.tolist() == [
        1.5,
        2.25,
    ]


def test_floats_that_a_gap_made_of_whole_numbers(tmp_path: Path):
    assert read_edge_file(written(tmp_path, "source,target\n1.0,2.0\n2.0,3.0\n")).names == ["1", "2", "3"]
    frame = pd.DataFrame({"source": [1.0, 2.0], "target": [2, 3]})
    assert cut.data.read_graph(frame).names == ("1", "2", "3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"at least one edge or a table of vertices, got edges\.csv, which is empty"),
        ("# only\n# comments\n", "which is empty"),
        ("ann\nbob\n", "two columns, the ends of each edge, got 1"),
        ("source,target\nann,\nbob,cid\n", r"two ends, got none in row 1 of column 'target'"),
        ("source,target,timestamp\na,b,1\nb,c,2\n", "does not change over time, got edges with a column 'timestamp'"),
        ("a,b\nb,c,d\n", "fields of the first, got 3 in line 2"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read_edge_file(written(tmp_path, text))


def test_mistakes_in_names_of_columns(tmp_path: Path):
    path = written(tmp_path, "source,target,kind\na,b,x\nb,c,y\n")
    with pytest.raises(ValueError, match=r"weight must be a column of edges.csv, got 'kin'; the nearest are: kind"):
        read_edge_file(path, weight="kin")
    with pytest.raises(ValueError, match=r"weights must be numbers, got 'x' in column 'kind'"):
        read_edge_file(path, weight="kind")
    with pytest.raises(ValueError, match=r"must be columns of edges.csv, got 'sorce'; the nearest are: source"):
        read_edge_file(path, columns=("sorce", "target"))
    with pytest.raises(ValueError, match=r"an edge has two ends, got 1 columns"):
        read_edge_file(path, columns=("source", "source"))


def test_arrays():
    assert edges_of_array([(0, 1), (1, 2)]).pairs.tolist() == [[0, 1], [1, 2]]
    assert edges_of_array(np.array([[0, 1, 4], [1, 2, 0]])).pairs.tolist() == [[0, 1], [1, 2], [4, 0]]
    assert len(edges_of_array(np.array([[0, 3]]), vertices=7).names) == 7
    assert edges_of_array([("ann", "bob")]).names == ["ann", "bob"]
    assert edges_of_array([]).pairs.shape == (0, 2)
    with pytest.raises(ValueError, match=r"shape \(edges, 2\), got \(3, 3\)"):
        edges_of_array(np.zeros((3, 3), int))
    with pytest.raises(ValueError, match=r"got one to vertex 3 in edges where there are 2"):
        edges_of_array([(0, 3)], vertices=2)
    with pytest.raises(ValueError, match=r"numbered from 0, got -1"):
        edges_of_array([(0, -1)])
    with pytest.raises(ValueError, match=r"whole numbers, got float64; convert them by .astype"):
        edges_of_array([(0.0, 1.0)])


def test_numbering():
    names, numbers = number_vertices([np.array(["b", "a"], object), np.array(["a", "c"], object)])
    assert names == ["b", "a", "c"]
    assert numbers.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("ann,bob\nbob,cid\n", False),  # bob is an end further down
        ("ann,bob\ncid, bob \n", False),
        ('ann,bob\ncid,"ann"', False),
        ("who,whom\nann,bob\n", True),
        ("from,to\nfromm,tom\nafrom,ato\n", True),  # parts of longer names are other names
        ("an,bo\nann,bob\nban,abo\n", False),  # words over words that no header has
    ],
)
def test_a_first_row_is_a_header_unless_its_words_are_ends(text: str, header: bool, tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    names = read_edge_file(path).names
    assert (text.split(",")[0] in names) is not header


def test_whole_numbers_are_numbered_as_words_are(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n10,9\n9,-2\n2,10\n")
    raw = read_edge_file(path)
    assert raw.names == ["-2", "2", "9", "10"]
    assert raw.pairs.tolist() == [[3, 2], [2, 0], [1, 3]]
    path.write_text("source,target\n10,9\n9,x\n2,10\n")  # one word among them: as they first appear
    assert read_edge_file(path).names == ["10", "9", "x", "2"]
    path.write_text("source,target\n010,9\n9,010\n10,9\n")
    assert read_edge_file(path).names == ["9", "010", "10"]


def test_weights_that_are_words_are_refused(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\na,b,1\nb,c,much\n")
    with pytest.raises(
        ValueError, match=r"weights must be numbers, got 'much' in row 2 of column 'weight' of edges.csv"
    ):
        read_edge_file(path)
    path.write_text("source,target,w\na,b,friend\nb,c,foe\n")  # a letter may mean anything
    assert read_edge_file(path).weights is None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("#a,b\n#c,#a\nd,#c\n%x,d\n", [("#a", "b"), ("#c", "#a"), ("d", "#c"), ("%x", "d")]),
        ("# FromNodeId\tToNodeId\n0\t1\n", [("0", "1")]),
        ("#source,target\na,b\nb,c\n", [("a", "b"), ("b", "c")]),
        ("a,b\nb,c\nc,a\n", [("a", "b"), ("b", "c"), ("c", "a")]),
        ("ann,bob\ncid,dan\n", [("ann", "bob"), ("cid", "dan")]),
        ("a,a\n", [("a", "a")]),
        ("source,target\n2,3\n2.0,4\n", [("2", "3"), ("2", "4")]),
        ("source,target\n1.10,1.1\n", [("1.10", "1.1")]),
    ],
)
def test_no_row_vanishes(text: str, pairs: list[tuple[str, str]], tmp_path: Path):
    assert pairs_of(written(tmp_path, text)) == pairs


def test_what_is_left_out_or_guessed_is_told(tmp_path: Path):
    assert any("1 line left out as comments" in n for n in read_edge_file(written(tmp_path, "# by hand\n1 2\n")).notes)
    notes = read_edge_file(written(tmp_path, "ann,bob\ncid,dan\n")).notes
    assert "no header: the first row (ann, bob) is taken for an edge; if it holds names, use --header" in notes


def test_weights_of_tuples_and_arrays_that_may_be_read_two_ways():
    raw = edges_of_array([("a", "b", 2.0), ("b", "c", 1.5)])
    assert (raw.names, raw.weights.tolist()) == (["a", "b", "c"], [2.0, 1.5])
    with pytest.raises(
        ValueError, match=r"shape \(2, 2\) must say which way it lists its edges, got \[\[0, 1\], \[2, 3\]\]"
    ):
        edges_of_array(np.array([[0, 1], [2, 3]]))
    assert edges_of_array([(0, 1), (2, 3)]).pairs.tolist() == [[0, 1], [2, 3]]
    assert edges_of_array(np.array([[0, 1], [2, 3]]), index=True).pairs.tolist() == [[0, 2], [1, 3]]


def test_tuples_have_weights_or_attributes_as_in_networkx():
    keyed = [("a", "b", 0, {"weight": 2.0, "kind": "x"}), ("b", "c", 0, {"weight": 1.0, "kind": "y"})]
    for rows in (keyed, [(a, b, values) for a, b, _, values in keyed]):
        data = cut.data.read_graph(rows)
        assert data.names == ("a", "b", "c")
        assert data.graph.weights.tolist() == [2.0, 1.0]
        assert data.edge_feature_names == ("kind=x", "kind=y")
    assert cut.data.as_graph([("a", "b", {}), ("b", "c", {})]).weights is None
    assert cut.data.as_graph([((0, 0), (0, 1)), ((0, 1), (1, 1))]).vertices == 3
    for rows, message in (
        ([("a", "b", {"weight": 2.0}), ("b", "c", {})], "finite weight, got none for b – c in edges"),
        ([("a", "b", 2.0, "x")], r"an edge of four must be \(source, target, key, attributes\)"),
        ([("a", "b"), ("b", "c", 1.0)], "got none in row 1 of edges"),
        ([("a", "b", 1.0, 2.0, 3.0)], "got 5 entries in row 1"),
        ([(1, "1"), ("1", "b")], "names of vertices must differ, got 1 and '1' in edges"),
    ):
        with pytest.raises(ValueError, match=message):
            cut.data.as_graph(rows)


@pytest.mark.parametrize("make", [list, np.array, torch.tensor])
def test_two_by_two_is_refused_unless_both_readings_are_one(make: Callable[[list[list[int]]], Any]):
    for pairs in ([[0, 1], [2, 3]], [[1, 0], [2, 1]], [[0, 0], [1, 1]]):
        with pytest.raises(ValueError, match=r"shape \(2, 2\) must say which way it lists its edges"):
            cut.data.as_graph(make(pairs), directed=True)
    assert cut.data.as_graph(make([[0, 1], [1, 2]])).edges.T.tolist() == [[0, 1], [1, 2]]
    assert cut.data.as_graph([(0, 1), (2, 3)]).edges.T.tolist() == [[0, 1], [2, 3]]


def test_a_dict_of_neighbours_is_no_table():
    for neighbours in ({"a": ["b", "c"], "b": ["c", "a"], "c": ["a", "b"]}, {0: {1: {}}, 1: {0: {}}}):
        with pytest.raises(ValueError, match="must have columns, as source and target, got neighbours of"):
            cut.data.as_graph(neighbours)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1,node2\nnode2,node3\n", "node1 node2 node3"),
        ("node1,node2\nnode3,node4\n", "node1 node2 node3 node4"),
        ("a,b\n#b,c\nc,d\n", "a b #b c d"),
        ("a    b\nbb   c\n", "a b bb c"),
        ("start,middle\nmiddle,end\n", "start middle end"),
        ("Source ID,Target ID\na,b\n", "a b"),
        ("FromNodeId\tToNodeId\n0\t1\n", "0 1"),
        (",source,target\n0,a,b\n1,b,c\n", "a b c"),
        ("source,target\nNA,null\nnan,None\n", "NA null nan None"),
        ("a -> b\nb -> c\n", "a b c"),
    ],
)
def test_which_rows_are_edges(tmp_path: Path, text: str, names: str):
    data = cut.data.read_graph(written(tmp_path, text, "edges.txt"))
    assert data.names == tuple(names.split())
    assert data.graph.weights is None


def test_a_list_with_a_header_alone_has_no_graph(tmp_path: Path):
    with pytest.raises(ValueError, match=r"needs at least one edge or a table of vertices, got edges\.csv"):
        cut.data.as_graph(written(tmp_path, "source,target\n"))


def test_numbers_with_huge_gaps_are_no_numbers_of_vertices():
    with pytest.raises(ValueError, match=r"got 40,000,001 vertices in edges, where at most 2 can have an edge"):
        cut.data.as_graph([(0, 40_000_000)])
    assert cut.data.as_graph([(0, 40)], vertices=2_000_000).vertices == 2_000_000  # asked for


def test_2_and_2_0_of_tuples():
    assert cut.data.as_graph([("2", "a"), ("2.0", "b")]).vertices == 3
    with pytest.raises(ValueError, match=r"names of vertices must differ, got 2 and '2\.0' in edges"):
        cut.data.as_graph([(2, "a"), ("2.0", "b")])


def test_what_a_list_guesses_is_a_warning_of_as_graph(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text("# made by hand\na,b\nb,c\nb,a\n")
    with pytest.warns(UserWarning, match=r"edges\.csv: ") as told:
        cut.data.as_graph(path)
    assert [str(warning.message) for warning in told] == [
        "edges.csv: 1 line left out as comments, the first '# made by hand'",
        "edges.csv: no header: the first row (a, b) is taken for an edge; if it holds names, use --header",
        "edges.csv: 1 edge is named both ways: undirected, kept once",
    ]
