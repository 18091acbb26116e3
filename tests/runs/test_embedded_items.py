"""Vectors of many items: in pieces as at once, in every format, and searched."""

import csv
import io
import os
import signal
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from forked import server
from safetensors.numpy import load_file

import cutaway as cut
from cutaway.runs import embedded_items
from cutaway.runs.embedded_items import (
    EmbeddedPiece,
    embed_pieces,
    joined,
    print_csv,
    read_vectors,
    shown,
    write_vectors,
)

TEXTS = ["the first", "a longer second text", "", "x", "the first"]


@pytest.fixture
def run(trained):
    return cut.load(trained("bert"))


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return str(path)


def in_small_pieces(run, source, column="", encoding="utf-8"):
    return ((TEXTS[i : i + 2], TEXTS[i : i + 2]) for i in range(0, len(TEXTS), 2))


def test_pieces_are_the_vectors_of_the_whole(run, texts, monkeypatch):
    monkeypatch.setattr(embedded_items, "items_to_embed", in_small_pieces)
    with pytest.warns(UserWarning, match=r"1 of 5 lines of .*texts\.txt are empty"):
        pieces = list(embed_pieces(run, texts))
    assert [name for piece in pieces for name in piece.names] == TEXTS
    found = np.concatenate([piece.vectors for piece in pieces])
    np.testing.assert_allclose(found, run.embed(TEXTS).numpy(), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_texts_that_are_cut_are_told_once(run, texts, monkeypatch):
    monkeypatch.setattr(
        embedded_items, "items_to_embed", lambda *_: iter([(["x " * 900, "y"],) * 2, (["z " * 900],) * 2])
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        list(embed_pieces(run, texts))
    assert [str(warning.message) for warning in told] == [
        f"texts may have {run.model.spec.context} tokens, 2 of 3 have more and were cut; "
        "split them to have all of them read"
    ]


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors", ".csv"])
def test_files(ending, tmp_path):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)).astype(np.float32) for n in (4, 1, 2)]
    names = [[f"text, {i}-{j}" for j in range(len(part))] for i, part in enumerate(parts)]
    path = tmp_path / f"vectors{ending}"
    assert write_vectors(path, map(EmbeddedPiece, names, parts)) == (7, 3)
    whole = np.concatenate(parts)
    if ending == ".csv":
        import pandas

        found = pandas.read_csv(path)
        assert found["text"].tolist() == [name for part in names for name in part]
        np.testing.assert_allclose(found[["v0", "v1", "v2"]].to_numpy(), whole, rtol=1e-6)
        return
    np.testing.assert_array_equal(read_vectors(str(path)), whole)
    stored = load_file(path) if ending == ".safetensors" else np.load(path)
    stored = stored if ending == ".npy" else stored["vectors"]
    np.testing.assert_array_equal(stored, whole)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_nothing_is_left_of_a_file_that_failed(run, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"a\n\xff\n")
    with pytest.raises(ValueError, match="0xff"):
        write_vectors(tmp_path / "vectors.npy", embed_pieces(run, str(tmp_path / "bad.txt")))
    assert not (tmp_path / "vectors.npy").exists()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors", ".csv"])
def test_a_killed_process_leaves_no_half_file(ending, tmp_path):
    process = server().Process(target=write_and_die, args=(tmp_path / f"vectors{ending}",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [file.suffix for file in tmp_path.iterdir()] == [".part"]  # hidden, and no vectors by its name


def write_and_die(path):
    def pieces():
        yield EmbeddedPiece(["a"], np.zeros((1, 3), np.float32))
        os.kill(os.getpid(), signal.SIGKILL)

    write_vectors(path, pieces())


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Forty pieces of a megabyte: what is alive at once is a few of them."""
    tracemalloc.start()
    piece = lambda: EmbeddedPiece([str(i) for i in range(256)], np.ones((256, 1024), np.float32))
    for ending in (".npy", ".npz", ".safetensors"):
        tracemalloc.reset_peak()
        write_vectors(tmp_path / f"vectors{ending}", (piece() for _ in range(40)))
        assert tracemalloc.get_traced_memory()[1] < 12e6
    tracemalloc.stop()


def test_pieces_joined():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)) for n in (4, 1, 2)]
    names, vectors = joined(EmbeddedPiece([f"{len(part)}-{i}" for i in range(len(part))], part) for part in parts)
    np.testing.assert_array_equal(vectors, np.concatenate(parts))
    assert names == ["4-0", "4-1", "4-2", "4-3", "1-0", "2-0", "2-1"]


def test_progress(monkeypatch, capsys):
    clock = iter(range(0, 1000, 11))
    monkeypatch.setattr("cutaway.runs.embedded_items.time.monotonic", lambda: next(clock))
    pieces = [EmbeddedPiece(["a", "b"], np.zeros((2, 1)))] * 5
    assert list(shown(iter(pieces))) == pieces
    assert capsys.readouterr().err == "4 vectors, 0 a second\n8 vectors, 0 a second\n"


def test_threads_give_equal_vectors(run):
    """Also of a model that is being trained: dropout is off while any of them embeds, and on again after the last."""
    model = cut.models.BERT(run.model.spec.but(dropout=0.5))
    model.load_state_dict(run.model.state_dict())
    model.tokenizer = run.tokenizer
    texts = [f"{'ab' * (i % 4)} {i}" for i in range(40)]
    expected = model.eval().embed(texts)
    model.train()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.embed(texts), range(12)):
            torch.testing.assert_close(found, expected)
    assert model.training


def test_nearest_texts(run):
    found = run.nearest("the first", among=TEXTS, k=2)
    assert [text for text, _ in found] == ["the first", "the first"]
    np.testing.assert_allclose([score for _, score in found], 1, atol=1e-5)
    cosines = (run.embed(TEXTS) @ run.embed("the first")).tolist()
    assert dict(run.nearest("the first", among=TEXTS, k=9))["x"] == pytest.approx(cosines[3], abs=1e-5)
    assert "" not in dict(run.nearest("", among=TEXTS, k=9))
    approximate = run.nearest("the first", among=TEXTS, k=1, approximate=True)
    assert approximate[0] == ("the first", pytest.approx(1.0))


@pytest.mark.parametrize(
    ("question", "options", "message"),
    [
        ("a", dict(among=[]), r"among must be several texts, got \[\]"),
        ("a", dict(among="text"), "among must be several texts, got 'text'"),
        ("a", dict(among=["b"], k=0), "k must be a whole number of at least 1, got 0"),
        (["a", "b"], dict(among=["b"]), "one question is asked, a str, got several"),
    ],
)
def test_mistakes(run, question, options, message):
    with pytest.raises(ValueError, match=message):
        run.nearest(question, **options)


def test_empty_files_and_wrong_vectors(run, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match=r"texts must come one a line, got .*empty\.txt, which has none"):
        list(embed_pieces(run, str(tmp_path / "empty.txt")))
    (tmp_path / "vectors.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match=r"must be .npy, .npz or .safetensors by `cutaway embed`"):
        read_vectors(str(tmp_path / "vectors.npy"))
    with pytest.raises(ValueError, match="which is not there"):
        read_vectors(str(tmp_path / "none.npy"))
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"must have shape \(texts, width\), got \(3,\)"):
        read_vectors(str(tmp_path / "flat.npy"))


@pytest.mark.parametrize("recipe", ["gpt", "bert", "transformer"])
def test_models_of_text(recipe, trained):
    run = cut.load(trained(recipe))
    found = run.embed(["one cat.", "two"])
    assert found.shape == (2, run.model.spec.width)
    torch.testing.assert_close(run.embed("two"), found[1], atol=1e-6, rtol=1e-5)


def test_images(trained):
    run = cut.load(trained("cnn"))
    images = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    found = run.embed(images)
    assert len(found) == 3
    torch.testing.assert_close(
        run.model.head(found), run.model(torch.from_numpy(images)[:, None].float() / 255), atol=1e-5, rtol=1e-4
    )


def test_recipes_without_vectors(trained):
    with pytest.raises(ValueError, match="a run of 'markov' cannot embed: its model has no vectors of its inputs"):
        cut.load(trained("markov")).embed(["text"])


def test_numbers_in_a_csv_read_back_as_the_same_single_precision():
    vectors = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    text = io.StringIO()
    print_csv(text, [EmbeddedPiece(["a", "b", "c"], vectors)])
    rows = list(csv.reader(text.getvalue().splitlines()))[1:]
    assert (np.array([row[1:] for row in rows], np.float32) == vectors).all()
