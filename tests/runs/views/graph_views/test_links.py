"""Views of links: every picture of links, signs, kinds and values; held-out links in the graph."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from graph_runs import train

from cutaway.runs.views.graph_views import links
from cutaway.tasks.subjects import subject_of

VIEWS = (links.link_scores, links.best_pairs, links.links_in_the_graph)


def pictures(folder: Path, column: str | None, **settings: str) -> dict[str, str]:
    """The titles of a run's pictures, whose list of edges has labels of some kind."""
    rng = np.random.default_rng(0)
    rows = [(i, j) for i in range(30) for j in range(i) if rng.random() < (0.5 if i // 10 == j // 10 else 0.05)]
    frame = pd.DataFrame([(f"p{i}", f"p{j}") for i, j in rows], columns=["source", "target"])
    if column == "weight":
        frame["weight"] = [1 if i // 10 == j // 10 else -1 for i, j in rows]
    elif column == "kind":
        frame["kind"] = ["abc"[i // 10] for i, _ in rows]
    elif column == "stars":
        frame["stars"] = [i + j + 0.5 for i, j in rows]
    frame.to_csv(folder / "edges.csv", index=False)
    settings = {"target": column} if column in ("kind", "stars") else {}
    run = train(
        "links", data=str(folder / "edges.csv"), validation=0.2, width=8, steps=10, out=folder / "run", **settings
    )
    subject = subject_of(run)
    found = {view.__name__: view(run, subject) for view in VIEWS}
    assert all(picture.caption for made in found.values() for picture in made)
    return {name: made[0].title for name, made in found.items() if made}


def test_links(tmp_path: Path):
    found = pictures(tmp_path, None)
    assert found["links_in_the_graph"] == "Held-out links"
    assert found["best_pairs"] == "Precision: how many of the k best pairs are links"
    assert set(found) == {view.__name__ for view in VIEWS}


@pytest.mark.parametrize(
    ("column", "title"),
    [("weight", "What the network says of"), ("kind", "What each class is taken for"), ("stars", "stars: predicted")],
)
def test_labels_of_edges(column: str, title: str, tmp_path: Path):
    found = pictures(tmp_path, column)
    assert found["link_scores"].startswith(title)
    assert found.get("links_in_the_graph") == ("Held-out edges" if column == "kind" else None)


def test_a_large_graph_is_drawn_around_a_vertex():
    star = np.stack([np.zeros(200, int), np.arange(1, 201)])
    kept = links._surroundings(star, star[:, :3], 0, 201)
    assert len(kept) == 50
    assert kept[:4].tolist() == [0, 1, 2, 3]
    assert len(links._surroundings(star[:, :10], star[:, :3], 0, 11)) == 11
