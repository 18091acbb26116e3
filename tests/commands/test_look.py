"""`cutaway look`: a page, or the pictures one by one."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from look.rendered import image_of
from tabular import INPUTS, little_frame

from cutaway.cli import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, trained: Callable[[str], Path]) -> Path:
    """A folder with a run of text and one of a table."""
    folder = tmp_path_factory.mktemp("looks")
    for recipe in ("gpt", "mlp"):
        shutil.copytree(trained(recipe), folder / recipe)
    little_frame(3, seed=5)[INPUTS].to_csv(folder / "new.csv", index=False)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    code = run(["look", *argv])
    told = capsys.readouterr()
    assert code == 0, told.err
    return told.out


def test_a_page_in_the_run_folder(place: Path, capsys: pytest.CaptureFixture[str]):
    assert printed(capsys, str(place / "mlp")) == f"{place / 'mlp' / 'look.html'}\n"
    page = (place / "mlp" / "look.html").read_text(encoding="utf-8")
    assert "<title>Inside mlp</title>" in page
    assert "Rows that it was not trained on." in page


def test_rows_of_a_file_or_of_standard_input(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    told = []
    for source in (str(place / "new.csv"), "-"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO((place / "new.csv").read_bytes())))
        out = printed(capsys, str(place / "mlp"), source, "--at", "head", "--json", "--out", str(place / "a.html"))
        told.append(json.loads(out))
    assert told[0] == told[1]
    assert told[0]["files"] == [str(place / "a.html")]
    assert told[0]["pictures"][0]["alt"].startswith("Bars of 3 entries")


def test_text_from_standard_input(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"the dog")))
    printed(capsys, str(place / "gpt"), "-", "--at", "blocks.0.after", "--out", str(place / "t.html"))
    assert "Your text." in (place / "t.html").read_text(encoding="utf-8")


def test_one_picture_is_one_file_and_several_are_numbered(place: Path, capsys: pytest.CaptureFixture[str]):
    one = place / "one.png"
    assert printed(capsys, str(place / "gpt"), "the dog", "--at", "blocks.0.after", "--out", str(one)) == f"{one}\n"
    assert image_of(one.read_bytes()).size[0] > 200
    many = place / "many.svg"
    out = printed(capsys, str(place / "gpt"), "the dog", "--at", "blocks.0.attention.weights", "--out", str(many))
    names = [f"{place}/many-{i}.svg" for i in (1, 2, 3)]  # the grid, and two heads
    assert out.split() == names
    assert not many.exists()
    assert "head 1" in Path(names[2]).read_text(encoding="utf-8")


def test_json_tells_every_picture_in_words(place: Path, capsys: pytest.CaptureFixture[str]):
    told = json.loads(printed(capsys, str(place / "mlp"), "--json"))
    assert told["files"] == [str(place / "mlp" / "look.html")]
    assert {"losses", "results", "weights"} <= {picture["view"] for picture in told["pictures"]}
    assert all(picture["title"] and picture["alt"] and picture["section"] for picture in told["pictures"])


def test_mistakes_are_told_in_a_line(place: Path, capsys: pytest.CaptureFixture[str]):
    for argv, told in (
        (["nowhere"], "a run is a folder with config.json, got nowhere without one"),
        ([str(place / "gpt"), "--out", "a.gif"], "--out must end in .html, .png or .svg, got 'a.gif'"),
        ([str(place / "gpt"), "the", "--at", "blocks.0.mlp.hiden"], "the nearest known are: blocks.0.mlp.hidden"),
        ([str(place / "mlp"), str(place / "no.csv")], "no.csv"),
        ([], "RUN"),
    ):
        assert run(["look", *argv]) == 2
        error = capsys.readouterr().err
        assert error.startswith("cutaway look: ")
        assert error.count("\n") == 1
        assert told in error


def test_views_are_listed(capsys: pytest.CaptureFixture[str]):
    assert run(["list", "views", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"section": "Training", "view": "losses"}.items() <= rows[0].items()
    assert all(row["what"] and row["suits"] for row in rows)


def test_progress_is_shown_where_it_takes_long(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from cutaway.commands import look

    monkeypatch.setattr(look, "_QUIET", 0.0)
    out = str(place / "page.html")
    assert run(["look", str(place / "mlp"), "--out", out]) == 0
    lines = capsys.readouterr().err.splitlines()
    counted = [line.split()[0].split("/") for line in lines]
    assert [int(done) for done, _ in counted] == list(range(1, len(lines) + 1))
    assert {total for _, total in counted} == {str(len(lines))}
    assert lines[0].endswith("  The loss over the steps of training")
    assert run(["look", str(place / "mlp"), "--out", out, "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_the_perplexity_of_maps_is_a_flag(place: Path, capsys: pytest.CaptureFixture[str]):
    told = json.loads(printed(capsys, str(place / "gpt"), "--perplexity", "3", "12", "--json"))
    (map_,) = [one for one in told["pictures"] if one["view"] == "tokens"]
    assert "at perplexity 3, perplexity 12" in map_["alt"]
    assert run(["look", str(place / "gpt"), "--perplexity", "0.5"]) == 2
    assert "--perplexity must be 1 or more, got 0.5; try --perplexity 5 30 100" in capsys.readouterr().err
