"""`cutaway attack`: what is printed and drawn, another run's changes, images of one's own, and mistakes."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from cutaway import registry
from cutaway.cli import run as cutaway
from cutaway.recipes.images.cnn import CNNRecipe
from cutaway.runs import attacked
from cutaway.runs.views import robustness
from cutaway.tasks.subjects import subject_of


@pytest.fixture
def digits(trained):
    return str(trained("cnn"))


def test_figures_fall_from_noise_to_aimed_changes(digits, capsys):
    assert cutaway(["attack", digits, "--epsilon", "0.2", "--count", "60", "--squares", "30", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    right = found["right"]
    assert list(right) == ["clean", "noise", "fgsm", "pgd", "margin", "square", "worst"]
    assert right["pgd"] <= right["fgsm"] <= right["clean"]
    assert right["worst"] == min(right.values())
    assert right["pgd"] < right["noise"]
    assert "60 of" in found["images"]


def test_lines_picture_and_another_run(digits, tmp_path, capsys):
    out = tmp_path / "attack.svg"
    flags = ["--kinds", "fgsm", "--count", "20", "--source", digits, "--out", str(out), "--steps", "3"]
    assert cutaway(["attack", digits, *flags]) == 0
    printed = capsys.readouterr().out
    assert "no pixel moves by more than 0.1" in printed
    assert "right after one step along the sign of the gradient" in printed
    assert "from run" in printed
    assert "changed image" in out.read_text()
    assert cutaway(["attack", digits, *flags]) == 2
    assert "which is there; add --overwrite" in capsys.readouterr().err


def test_another_run_must_have_the_same_images_and_classes(digits, trained, monkeypatch, capsys):
    assert cutaway(["attack", digits, "--source", str(trained("mlp"))]) == 2
    assert "--source must be a run that gives images a class, got " in capsys.readouterr().err
    answers = iter(({"labels": ["a", "b"]}, {"labels": ["b", "a"]}))
    monkeypatch.setattr(attacked, "image_about", lambda run: next(answers))
    assert cutaway(["attack", digits, "--source", digits]) == 2
    expected = "--source must have the labels of the run that is attacked, ['a', 'b'], got ['b', 'a']; train one on"
    assert expected in capsys.readouterr().err


def test_images_of_ones_own(digits, tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    for i in range(3):
        image.fromarray(np.full((8, 8), 80 * i, np.uint8)).save(tmp_path / f"{i}.png")
    assert cutaway(["attack", digits, str(tmp_path), "--kinds", "fgsm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["right"]["clean"] == 1.0  # they are taken for what the model says
    assert found["images"] == "3 images of yours, taken for what the model says of them"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--epsilon", "8"], "--epsilon must be from 0 to 1, got 8.0"),
        (["--steps", "0"], "--steps must be at least 1, got 0"),
        (["--count", "-1"], "--count must be at least 0, got -1"),
        (["--step", "0"], "--step must be above 0, got 0.0"),
        (["--out", "a.gif"], "--out must end in .png, .svg, .html, got 'a.gif'"),
        (["--overwrite"], "--overwrite is for --out"),
        (["--kinds", "cw"], "noise"),
        (["--kinds", "cw"], "got 'cw'; try --kinds noise fgsm pgd margin square"),
        (["--eps", "0.2"], "got --eps; did you mean --epsilon?"),
        (["--source", "runs/nowhere"], "nowhere"),
        (["nowhere/", "--test"], "--test is for the run's own images"),
        (["nowhere/"], "nowhere"),
    ],
)
def test_mistakes(digits, flags, message, capsys):
    assert cutaway(["attack", digits, *flags]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_only_image_classifiers_are_attacked(trained, capsys):
    assert cutaway(["attack", str(trained("mlp"))]) == 2
    assert "a run of 'mlp' cannot be attacked" in capsys.readouterr().err


def test_views(own_run):
    run = own_run("cnn")
    subject = subject_of(run)
    assert robustness.learned_from_images_as_they_are(run)
    assert not robustness.learned_from_attacks(run)
    curve = robustness.resistance(run, subject)
    shares = {(row["change"], row["size"]): row["share"] for row in curve.spec()["datasets"]["rows"]}
    last = max(size for _, size in shares)
    assert shares["noise", 0.0] == shares["many steps (PGD)", 0.0]
    assert shares["many steps (PGD)", last] < shares["noise", last]
    for size in {size for _, size in shares}:
        attacks = [shares[name, size] for name in robustness._CURVES]
        assert shares["every one of these", size] <= min(attacks)
    picture = robustness.attacked(run, subject)
    assert "changed by at most 0.1" in picture.title
    lost = re.search(r"(\d+) of (\d+) images lost their class; these are shown before others", picture.note)
    assert lost
    assert 0 < int(lost[1]) <= int(lost[2]) <= 100


def test_reports_of_runs_that_were_trained_on_attacks_show_them():
    """Each view suits a run once, and stands in the report only where it was trained for."""
    known = {view.name: view for view in registry.views()}
    runs = [SimpleNamespace(recipe=CNNRecipe.make(preset)) for preset in (None, "robust")]
    for name in ("attacked", "resistance"):
        plain, robust = known[name], known[f"{name}_robust"]
        assert [plain.suits(run) for run in runs] == [True, False]
        assert [robust.suits(run) for run in runs] == [False, True]
        assert (plain.report, robust.report) == (False, True)
