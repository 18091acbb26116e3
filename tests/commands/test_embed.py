"""`cutaway embed`, and `cutaway nearest --texts`: files in and out, and one line for every mistake."""

import json
from pathlib import Path

import numpy as np
import pytest

import cutaway as cut
from cutaway import cli
from cutaway.data.text.vector_files import write_vectors
from cutaway.runs.checkpoints_in_and_out import import_checkpoint

TEXTS = ["a first text", "and another one", "the last"]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return str(path)


def test_every_output(trained, texts, tmp_path, capsys):
    run = str(trained("bert"))
    expected = cut.load(run).embed(TEXTS).numpy()
    out = str(tmp_path / "vectors.npy")
    assert cli.run(["embed", run, texts, "--out", out]) == 0
    assert capsys.readouterr().err == f"3 vectors of {expected.shape[1]} numbers: {out}\n"
    np.testing.assert_allclose(np.load(out), expected, atol=1e-6)
    assert cli.run(["embed", run, texts, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["text"] for row in rows] == TEXTS
    np.testing.assert_allclose([row["vector"] for row in rows], expected, atol=1e-6)
    assert cli.run(["embed", run, texts]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("text,v0,v1")
    assert len(lines) == 4


def test_nearest_among_texts(trained, texts, tmp_path, capsys):
    run, out = str(trained("bert")), str(tmp_path / "vectors.npy")
    assert cli.run(["nearest", run, TEXTS[1], "--texts", texts, "-k", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {"of": TEXTS[1], "text": TEXTS[1], "cosine": 1.0}
    assert len(rows) == 2
    assert cli.run(["embed", run, texts, "--out", out]) == 0
    assert cli.run(["nearest", run, TEXTS[1], "--texts", texts, "--vectors", out, "--count", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows
    np.save(out, np.zeros((2, 5)), allow_pickle=False)
    assert cli.run(["nearest", run, "x", "--texts", texts, "--vectors", out]) == 2
    assert "got 2 vectors and 3 texts" in capsys.readouterr().err
    np.save(out, np.ones((3, 5)), allow_pickle=False)
    assert cli.run(["nearest", run, "x", "--texts", texts, "--vectors", out]) == 2
    assert "got width 5 for a model of" in capsys.readouterr().err
    assert cli.run(["nearest", run, "x", "--vectors", out]) == 2
    assert "--vectors is for a search among texts, got no --texts" in capsys.readouterr().err


def test_words_and_images(trained, tmp_path, capsys):
    matrix = np.array([[1, 0], [0, 2], [3, 4]], np.float32)
    run = import_checkpoint(
        str(write_vectors(tmp_path / "v.txt", ["one", "two", "three"], matrix)), str(tmp_path / "r")
    )
    np.testing.assert_array_equal(run.embed("three").numpy(), [3, 4])
    np.testing.assert_allclose(run.embed(["one unknown three"]).numpy(), [[0.8, 0.4]], atol=1e-6)  # (1,0) and (.6,.8)
    with pytest.raises(ValueError, match="a text must hold a word that has a vector, got 'all unknown'"):
        run.embed(["all unknown"])
    pytest.importorskip("PIL")
    from PIL import Image

    (tmp_path / "photos").mkdir()
    for i in range(3):
        Image.fromarray(np.full((8, 8), 80 * i, np.uint8)).save(tmp_path / "photos" / f"{i}.png")
    assert cli.run(["embed", str(trained("cnn")), str(tmp_path / "photos"), "--json"]) == 0
    assert [row["text"].rpartition("/")[2] for row in json.loads(capsys.readouterr().out)] == [
        "0.png",
        "1.png",
        "2.png",
    ]
    question = str(tmp_path / "photos" / "1.png")
    given = ["nearest", str(trained("cnn")), question, "--texts", str(tmp_path / "photos"), "--count", "1", "--json"]
    assert cli.run(given) == 0
    assert json.loads(capsys.readouterr().out)[0]["text"].endswith("1.png")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["TEXTS", "--out", "v.txt"], "--out must end in .npy, .npz, .csv or .safetensors, got 'v.txt'"),
        (["TEXTS", "--out", "TEXTS.npy"], "--out must be a new file, got"),
        (["TEXTS", "--out", "TEXTS.folder.npy", "--overwrite"], "--out must be a file, got the folder"),
        (["TEXTS", "--overwrite"], "--overwrite is for --out, got no --out"),
        (["TEXTS", "--json", "--out", "new.npy"], "--json prints and --out writes a file, got both"),
        (["TEXTS", "--encoding", "utf-99"], "--encoding must be a text encoding that Python knows, got 'utf-99'"),
        (["nothing.txt"], "TEXTS must be a file or folder that exists, got nothing.txt"),
        ([], "TEXTS, a file with one text a line, must be given, got none"),
    ],
)
def test_mistakes(words, message, trained, texts, capsys):
    np.save(texts + ".npy", np.zeros(1))
    Path(texts + ".folder.npy").mkdir(exist_ok=True)
    given = [word.replace("TEXTS", texts) for word in words]
    assert cli.run(["embed", str(trained("bert")), *given]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
