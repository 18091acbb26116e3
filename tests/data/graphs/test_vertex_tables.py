"""Tables of vertices: names, features of every kind, what is missing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cutaway as cut
from cutaway.data.graphs.vertex_tables import (
    feature_labels,
    feature_numbers,
    find_target,
    known_feature_numbers,
    read_vertex_table,
)


def test_features_of_every_kind():
    frame = pd.DataFrame(
        {
            "age": [10.0, 20.0, np.nan, 40.0],
            "red": ["yes", "no", "no", "yes"],
            "town": ["Rome", None, "Oslo", "Rome"],
            "same": [1, 1, 1, 1],
        }
    )
    x, columns, notes = feature_numbers(frame, "vertices")
    assert feature_labels(columns) == ("age", "age (missing)", "red", "town=Oslo", "town=Rome")
    mean = 70 / 3
    expected = [[10, 0, 1, 0, 1], [20, 0, 0, 0, 0], [mean, 1, 0, 1, 0], [40, 0, 1, 0, 1]]
    np.testing.assert_allclose(x, np.array(expected), rtol=1e-6)
    assert "same (constant: 1)" in notes[0]
    assert "1 vertices lack a feature" in notes[1]


def test_a_new_table_becomes_the_same_numbers():
    known = pd.DataFrame({"age": [10.0, 20.0, np.nan, 40.0], "town": ["Rome", None, "Oslo", "Rome"]})
    columns = feature_numbers(known, "vertices")[1]
    new = pd.DataFrame({"town": ["Oslo", "Bern", "Rome"], "more": [1, 2, 3], "age": [1.0, np.nan, 3.0]})
    x, notes = known_feature_numbers(new, columns, "vertices")
    np.testing.assert_allclose(x, [[1, 0, 1, 0], [70 / 3, 1, 0, 0], [3, 0, 0, 1]], rtol=1e-6)
    assert notes == [
        "1 vertices lack a feature: filled in by the mean of training",
        "1 vertices have a town that training had not, as Bern: taken as none",
    ]
    with pytest.raises(
        ValueError, match=r"must have the columns of training, got none called 'age' \(nearest there: ag"
    ):
        known_feature_numbers(new.rename(columns={"age": "ag"}), columns, "vertices")


def test_the_table_gives_order_features_and_labels(tmp_path: Path):
    (tmp_path / "edges.csv").write_text("source,target\nbob,ann\ncid,bob\n")
    (tmp_path / "vertices.csv").write_text("id,age,label\ncid,30,x\nbob,20,y\nann,,\ndan,5,x\n")
    data = cut.data.read_graph(tmp_path / "edges.csv", vertices=tmp_path / "vertices.csv", validation=0, test=0)
    assert data.names == ("cid", "bob", "ann", "dan")
    assert data.graph.edges.tolist() == [[1, 0], [2, 1]]
    assert data.targets.tolist() == [0, 1, -1, 0]
    assert data.feature_names == ("age", "age (missing)")
    assert data.graph.x[:, 0].tolist() == [30, 20, pytest.approx(55 / 3), 5]
    assert data.train.tolist() == [0, 1, 3]
    told = "\n".join(data.notes)
    assert "1 of 4 vertices have no label" in told
    assert "1 vertices lack a feature" in told
    assert "1 vertex without an edge" in told


def test_an_edge_to_a_missing_vertex(tmp_path: Path):
    (tmp_path / "edges.csv").write_text("source,target\nbob,ann\nbobb,ann\n")
    (tmp_path / "vertices.csv").write_text("id,age\nbob,1\nann,2\n")
    with pytest.raises(
        ValueError, match=r"got 1 that vertices.csv does not have, the first 'bobb' \(nearest there: bob"
    ):
        cut.data.read_graph(tmp_path / "edges.csv", vertices=tmp_path / "vertices.csv")
    with pytest.raises(ValueError, match=r"got 1 that the list of vertices does not have, the first 'bobb'"):
        cut.data.as_graph(tmp_path / "edges.csv", vertices=["ann", "bob"])


def test_mistakes(tmp_path: Path):
    path = tmp_path / "vertices.csv"
    path.write_text("id,age\nbob,1\nbob,2\n")
    edges = pd.DataFrame({"source": ["bob"], "target": ["bob"]})
    with pytest.raises(ValueError, match=r"one row a vertex, got 'bob' in rows 1 and 2 of vertices\.csv"):
        cut.data.read_graph(edges, vertices=path)
    path.write_text("id,age\nbob,1\n,2\n")
    with pytest.raises(ValueError, match=r"must name its vertex, got none in row 2"):
        read_vertex_table(path)
    with pytest.raises(
        ValueError, match=r"target must be a column of v, got 'agge'; the nearest of its 1 columns are: age"
    ):
        find_target(pd.DataFrame({"age": [1]}), "agge", "v")
    assert find_target(pd.DataFrame({"age": [1], "Class": [2]}), "", "v") == "Class"
    assert find_target(pd.DataFrame({"age": [1]}), "", "v") == ""


def test_names_in_edges_and_vertices_are_the_same_numbers(tmp_path: Path):
    """2.0 in one file is 2 in the other, and NA is a name."""
    edges, table = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    edges.write_text("source,target\n1,2\n2,NA\n")
    table.write_text("id,label\n1,x\n2.0,y\nNA,x\n")
    assert cut.data.read_graph(edges, vertices=table).names == ("1", "2", "NA")
    table.write_text("id,label\n1,x\n2,y\n2.0,x\nNA,x\n")
    with pytest.raises(ValueError, match=r"one row a vertex, got '2' in rows 2 and 3 of vertices\.csv"):
        cut.data.read_graph(edges, vertices=table)


def test_errors_of_labels_name_the_table_of_vertices(tmp_path: Path):
    edges, table = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    edges.write_text("source,target\na,b\n")
    table.write_text("id,club\na,x\nb,x\n")
    assert "column 'club' of the vertices has one value: left out" in cut.data.read_graph(edges, vertices=table).notes
    table.write_text("id,size\na,0.5\nb,1.5\n")
    with pytest.raises(
        ValueError, match=r"got vertices\.csv with the columns size; name theirs \(target=…, --target\)"
    ):
        cut.data.read_graph(edges, vertices=table, labelled=True)


def test_infinite_and_missing_features_are_told_apart(tmp_path: Path):
    edges, table = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    edges.write_text("source,target\na,b\nb,c\nc,d\n")
    table.write_text("id,size\na,0.5\nb,inf\nc,1.5\nd,\n")
    notes = cut.data.read_graph(edges, vertices=table).notes
    assert "1 vertices have an infinite size: taken as missing, and marked" in notes
    assert any(note.startswith("1 vertices lack a feature") for note in notes)


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="needs a column of their names, got none"):
        read_vertex_table({})
