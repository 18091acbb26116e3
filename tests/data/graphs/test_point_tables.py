"""Tables of points, and how they are told from edges."""

from pathlib import Path

import numpy as np
import pytest

from cutaway.data.graphs.point_tables import is_point_table, read_points


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("source,target\na,b\nb,c\n", False),
        ("a,b\nb,c\nc,a\n", False),
        ("1 2 0.5\n2 3 0.25\n", False),
        ("x,y\n0.5,1.5\n2.25,3.0\n1.0,1.0\n", True),
        ("age,town\n31,Rome\n42,Oslo\n17,Rome\n", True),
        ("", False),
    ],
)
def test_points_or_edges(tmp_path: Path, text: str, points: bool):
    (tmp_path / "table.csv").write_text(text)
    assert is_point_table(tmp_path / "table.csv") == points


def test_samples_and_other_files(tmp_path: Path):
    assert is_point_table("iris")
    assert not is_point_table("karate-club")
    assert not is_point_table(tmp_path / "absent.csv")


def test_reading(tmp_path: Path):
    (tmp_path / "points.csv").write_text("x,y,label\n0.5,1,a\n2,3,b\n1,1,\n")
    points = read_points(tmp_path / "points.csv")
    assert points.labels == ["a", "b", None]
    assert list(points.frame.columns) == ["x", "y"]
    assert points.places().shape == (3, 2)
    iris = read_points("iris")
    assert set(iris.labels) == {"setosa", "versicolor", "virginica"}
    places = iris.places()
    assert places.shape == (150, 2)
    assert places[:, 0].std() > places[:, 1].std()
    assert np.isfinite(places).all()


def test_mistakes(tmp_path: Path):
    (tmp_path / "points.csv").write_text("x,y\n0.5,1\n2,3\n")
    with pytest.raises(ValueError, match="three points to cluster, got 2 in points"):
        read_points(tmp_path / "points.csv")
    (tmp_path / "points.csv").write_text("x,y\n1,1\n1,1\n1,1\n")
    with pytest.raises(ValueError, match="got none of use in points"):
        read_points(tmp_path / "points.csv")
