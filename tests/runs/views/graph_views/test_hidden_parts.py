"""Views of runs that restore hidden parts of graphs, and of runs tuned from them: every picture."""

from pathlib import Path

import pytest

import cutaway as cut
from cutaway.runs.views import tuned
from cutaway.runs.views.graph_views import hidden_parts, vertices, whole_graphs
from cutaway.tasks.subjects import subject_of

VIEWS = (hidden_parts.restored_parts, hidden_parts.restored_edges, hidden_parts.vector_map)


@pytest.fixture(scope="module", autouse=True)
def _without_report():
    from cutaway.runs import execution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: None)
        yield


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chains whose tags alternate; every second one ends in the tag 2."""
    lines = ["60"]
    for g in range(60):
        n = 5 + g % 4
        lines.append(f"{n} {g % 2}")
        for v in range(n):
            around = [u for u in (v - 1, v + 1) if 0 <= u < n]
            lines.append(" ".join(map(str, [2 if g % 2 and v == n - 1 else v % 2, len(around), *around])))
    path = tmp_path_factory.mktemp("chains") / "chains.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def titles(run: cut.runs.Run, views: tuple) -> list[str]:
    subject = subject_of(run)
    found = [picture for view in views for picture in view(run, subject)]
    assert all(picture.caption for picture in found)
    return [picture.title for picture in found]


def test_many_graphs(chains: Path, tmp_path: Path):
    base = cut.train(
        "masked-graph", data=str(chains), hide="both", validation=0.3, width=8, depth=2, steps=5,
        out=tmp_path / "base", show="quiet",
    )  # fmt: skip
    found = titles(base, VIEWS)
    assert found[0].startswith("What each tag is restored as")
    assert found[1:] == [
        "Each vertex hidden in turn: is its tag restored?",
        "How probable hidden edges and random pairs are",
        "Graphs by what was learned without labels",
    ]
    run = cut.tune(base, data=str(chains), validation=0.3, lora=2, steps=3, out=tmp_path / "run", show="quiet")
    own = (whole_graphs.graph_answers, whole_graphs.telling_vertices, whole_graphs.graph_map, vertices.smoothing)
    assert len(titles(run, own)) == 4
    changed = (tuned.weight_updates, tuned.changed_representations, tuned.flipped_answers)
    found = titles(run, changed)
    assert any("moved" in title or "Weight" in title or "weights" in title for title in found)
    assert not any(title.startswith("Texts") for title in found)


def test_one_graph(tmp_path: Path):
    settings = dict(data="citations", hide="both", width=8, steps=5, show="quiet")
    base = cut.train("masked-graph", out=tmp_path / "base", **settings)
    found = titles(base, VIEWS)
    assert found == [
        "Hidden vertices, and the features that their neighbours tell of",
        "How probable hidden edges and random pairs are",
        "Vertices by what was learned without labels",
    ]
    run = cut.tune(base, data="citations", full=True, steps=3, out=tmp_path / "run", show="quiet")
    own = (vertices.vertex_mistakes, vertices.predicted_graph, vertices.cut_edges, vertices.vertex_map)
    assert len(titles(run, own)) == 4
    answers = titles(run, (tuned.flipped_answers,))
    assert all(title == "Vertices whose answer became right or wrong by tuning" for title in answers)
