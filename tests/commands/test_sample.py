"""`cutaway sample`: a grid, an array or a folder of images; mistakes in a line."""

import json

import generative
import numpy as np
import pytest

from cutaway.cli import run as cli


@pytest.mark.parametrize("name", ["grid.png", "grid.svg", "grid.html"])
def test_a_grid(name: str, tmp_path, capsys):
    run = generative.little_run("diffusion")
    asked = ["--label", "cross", "--count", "4", "--guidance", "1.5", "--steps", "2", "--out", str(tmp_path / name)]
    assert cli(["sample", str(run.path), *asked]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 200


def test_a_grid_is_crisp(tmp_path):
    """Each pixel is a square of one colour."""
    from PIL import Image

    run = generative.little_run("vae")
    assert cli(["sample", str(run.path), "--count", "4", "--out", str(tmp_path / "grid.png")]) == 0
    sheet = np.asarray(Image.open(tmp_path / "grid.png")).astype(int)
    images = np.rint(run.sample(4).numpy() * 255).astype(int)
    first = sheet[: sheet.shape[0] // 2, : sheet.shape[1] // 2]
    assert set(np.unique(first)) <= set(np.unique(images[0])) | {255}


def test_an_array_and_a_folder(tmp_path, capsys):
    run = generative.little_run("vae")
    assert cli(["sample", str(run.path), "--count", "12", "--out", str(tmp_path / "made.npz")]) == 0
    with np.load(tmp_path / "made.npz") as arrays:
        np.testing.assert_array_equal(arrays["images"], run.sample(12).numpy())
    capsys.readouterr()
    assert cli(["sample", str(run.path), "--count", "12", "--out", str(tmp_path / "made"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["shape"] == [12, 1, 9, 7]
    assert [*map(str, sorted((tmp_path / "made").iterdir()))] == told["files"]
    assert told["files"][0].endswith("01.png")


def test_without_out_it_lands_in_the_run(capsys):
    run = generative.little_run("autoencoder")
    assert cli(["sample", str(run.path)]) == 0
    assert capsys.readouterr().out.strip() == str(run.path / "samples.png")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--label", "circle"], "must be one of cross, square, got 'circle'"),
        (["--count", "0"], "must be from 1 to 10,000 images, got 0"),
        (["--count", "401", "--out", "x.png"], "a grid shows at most 400 images, got --count 401"),
        (["--out", "x.jpg"], "--out must end in .png, .svg, .html or .npz, or name a folder, got 'x.jpg'"),
        (["--overwrite"], "--overwrite is for --out, got no --out"),
        (["--steps", "2000"], "steps must be from 1 to 1000, got 2000"),
    ],
)
def test_mistakes_are_told_in_a_line(argv: list[str], told: str, capsys):
    run = generative.little_run("diffusion")
    assert cli(["sample", str(run.path), *argv]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_file_that_is_there_is_kept(tmp_path, capsys):
    (tmp_path / "grid.png").write_text("mine")
    run = generative.little_run("vae")
    assert cli(["sample", str(run.path), "--out", str(tmp_path / "grid.png")]) == 2
    assert "which is there; add --overwrite" in capsys.readouterr().err
    assert (tmp_path / "grid.png").read_text() == "mine"
