"""`cutaway cluster`: what is printed and written, points and edges, and mistakes."""

import csv
import json
from pathlib import Path

import pytest

from cutaway.cli import run as cutaway


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_karate_club(folder: Path, capsys):
    assert cutaway(["cluster", "karate-club"]) == 0
    out, err = capsys.readouterr()
    assert "karate-club: 34 vertices, 78 edges" in out
    assert "2 clusters, by the widest step in the spectrum: λ2 = 0.132, λ3 = 0.287" in out
    assert "agreement with the known groups, 1 if the same: adjusted Rand index 0.772" in out
    assert err.split() == ["clusters.csv", "clusters.html"]
    rows = list(csv.DictReader((folder / "clusters.csv").open(encoding="utf-8")))
    assert len(rows) == 34
    assert {row["cluster"] for row in rows} == {"1", "2"}
    assert rows[0]["known"] == "Mr. Hi"
    page = (folder / "clusters.html").read_text(encoding="utf-8")
    assert "Clusters of karate-club" in page
    assert "First eigenvectors" in page


def test_edges_with_small_pieces_as_json(folder: Path, capsys):
    lines = [f"a{i},a{j}" for i in range(25) for j in range(i)] + [f"b{i},b{j}" for i in range(25) for j in range(i)]
    (folder / "edges.csv").write_text("\n".join(["source,target", *lines, "a0,b0", "x,y"]) + "\n")
    code = cutaway(["cluster", "edges.csv", "--clusters", "2", "--picture", "-", "--out", "groups.csv", "--json"])
    assert code == 0
    found = json.loads(capsys.readouterr().out)
    assert [cluster["size"] for cluster in found["clusters"]] == [25, 25]
    assert found["set_aside"] == 2
    assert found["converged"]
    names = {row["vertex"]: row["cluster"] for row in csv.DictReader((folder / "groups.csv").open(encoding="utf-8"))}
    assert names["a0"] != names["b0"]
    assert len({names[f"a{i}"] for i in range(25)}) == 1


def test_points(folder: Path, capsys):
    assert cutaway(["cluster", "iris", "--clusters", "3", "--picture", "iris.svg", "--out", "-"]) == 0
    out = capsys.readouterr().out
    assert "a graph of 10 nearest points is made of the 150 points" in out
    assert "known groups: column 'species', not used" in out
    assert (folder / "iris.svg").read_text(encoding="utf-8").startswith("<svg")
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{i % 2 * 9 + i * 0.01},{i * 0.02}\n" for i in range(30)))
    assert cutaway(["cluster", "points.csv", "--neighbours", "3", "--picture", "-"]) == 0
    assert "2 clusters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "must be given, got none"),
        (["absent.csv"], "DATA must be a file, a folder or a sample, got 'absent.csv'"),
        (["karate-club", "--clusters", "1"], "--clusters must be at least 2, got 1"),
        (["karate-club", "--clusters", "99"], "--clusters must be at most the number of vertices, 34, got 99"),
        (["karate-club", "--clusters", "two"], "--clusters must be"),
        (["karate-club", "--regularise", "always", "--cut", "ratio"], "the normalised cut alone, got --cut ratio"),
        (["karate-club", "--picture", "a.pdf"], "--picture must end in .html, .png, .svg, got 'a.pdf'"),
        (["karate-club", "--out", "no/such/place.csv"], "--out must be in a folder that exists, got no/such/place.csv"),
        (["iris", "--neighbours", "0"], "--neighbours must be at least 1, got 0"),
        (["iris", "--radius", "-1"], "--radius must be above 0, got -1"),
        (["iris", "--target", "specie"], "got 'specie'; the nearest of its 5 columns are: species"),
        (["iris", "--vertices", "v.csv"], "--vertices and --weight are for edges, got a table of points"),
        (["python-docs"], "got the text sample python-docs"),
        (["negative.csv"], "a Laplacian needs weights of 0 or more, got -1"),
        (["empty.csv"], "which is empty"),
        (["two_ways.csv"], "got 1 from a to b and 2 back in two_ways.csv"),
    ],
)
def test_mistakes(folder: Path, capsys, words: list[str], message: str):
    (folder / "negative.csv").write_text("source,target,weight\na,b,1\nb,c,-1\n")
    (folder / "empty.csv").write_text("")
    (folder / "two_ways.csv").write_text("source,target,weight\na,b,1\nb,a,2\nb,c,1\n")
    code = cutaway(["cluster", *words])
    out, err = capsys.readouterr()
    assert code == 2, out
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "clusters.csv").exists()


def test_files_are_not_overwritten(folder: Path, capsys):
    (folder / "clusters.csv").write_text("mine")
    assert cutaway(["cluster", "karate-club", "--picture", "-"]) == 2
    assert "which is there; add --overwrite to replace it" in capsys.readouterr().err
    assert cutaway(["cluster", "karate-club", "--picture", "-", "--overwrite"]) == 0
    assert (folder / "clusters.csv").read_text(encoding="utf-8").startswith("vertex,cluster")


def test_a_header_without_edges(folder: Path, capsys):
    (folder / "empty.csv").write_text("source,target\n")
    assert cutaway(["cluster", "empty.csv", "--clusters", "2", "--out", "-", "--picture", "-"]) == 2
    assert "a graph needs at least one edge or a table of vertices, got empty.csv" in capsys.readouterr().err
