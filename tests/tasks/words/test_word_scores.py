"""Scores of word vectors: as scipy and gensim compute them."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from cutaway.data.words.word_tests import read_analogies, read_rated_pairs
from cutaway.tasks.words.word_scores import analogies, similarity, spearman


def test_spearman_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.integers(0, 6, (2, 30)).astype(float)  # with ties
        assert spearman(x, y) == pytest.approx(spearmanr(x, y)[0], abs=1e-12)
    assert spearman(np.ones(3), np.arange(3.0)) == 0.0


def test_gensim_gives_the_same_scores(data_folder, tmp_path):
    models = pytest.importorskip("gensim.models")
    folder = data_folder / "text" / "word_eval"
    questions = read_analogies(folder / "questions-words.txt.xz")[:600]
    pairs = read_rated_pairs(folder / "wordsim353.tsv")
    words = sorted({w.lower() for q in questions[:500] for w in q[:4]} | {p.first.lower() for p in pairs})
    matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    keyed = models.KeyedVectors(8)
    keyed.add_vectors(words, matrix)
    (tmp_path / "questions.txt").write_text(
        ": first\n" + "".join(" ".join(q[:4]) + "\n" for q in questions), encoding="utf-8"
    )
    accuracy, _ = keyed.evaluate_word_analogies(str(tmp_path / "questions.txt"))
    ours = analogies(words, matrix, questions)
    assert ours.accuracy == pytest.approx(accuracy)
    assert ours.questions + ours.left_out == 600
    _, ranks, missing = keyed.evaluate_word_pairs(str(folder / "wordsim353.tsv"))
    alike = similarity(words, matrix, pairs)
    assert alike.correlation == pytest.approx(ranks[0], abs=1e-6)
    assert alike.left_out == pytest.approx(missing / 100 * 353)


def test_an_analogy_by_hand():
    words = ["king", "man", "woman", "queen", "apple"]
    matrix = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.3, 0.2]]
    found = analogies(words, matrix, [("Man", "king", "woman", "queen", "family"), ("man", "x", "woman", "y")])
    assert found == (1.0, 1, 1, {"family": (1, 1)})


def test_words_without_vectors_are_told():
    with pytest.raises(ValueError, match="two pairs whose words have vectors, got 0 of 1"):
        similarity(["a"], [[1.0]], [("b", "c", 1.0)])
    with pytest.raises(ValueError, match="one question whose words have vectors, got none of 1"):
        analogies(["a"], [[1.0]], [("a", "b", "c", "d")])
