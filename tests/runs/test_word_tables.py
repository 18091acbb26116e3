"""Tables of words: nearest words, analogies, questions as text, and words that are not there."""

import numpy as np
import pytest

from cutaway.runs.word_tables import WordTable, nearest_spellings, read_question

TABLE = WordTable(
    ["king", "man", "woman", "queen", "apple"],
    np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [-1, 0.3, 0.2]], np.float32),
)


def test_nearest_by_hand():
    assert TABLE.nearest("king", k=2) == [("man", pytest.approx(0.5**0.5)), ("queen", pytest.approx(0.5))]
    assert TABLE.nearest("King", k=1)[0][0] == "man"  # in small letters
    assert len(TABLE.nearest("king", k=99)) == 4


def test_gensim_gives_the_same():
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(3)
    keyed.add_vectors(TABLE.words, TABLE.matrix)
    theirs = keyed.most_similar(positive=["king", "woman"], negative=["man"], topn=2)
    ours = TABLE.nearest(["king", "woman"], negative="man", k=2)
    assert [word for word, _ in ours] == [word for word, _ in theirs] == ["queen", "apple"]
    assert TABLE.nearest("king - man + woman", k=2) == ours


@pytest.mark.parametrize("question", ["king -", "- + king", "king queen - man", "king + + man"])
def test_questions_that_are_none(question):
    with pytest.raises(ValueError, match="write it as king - man"):
        read_question(question)


def test_messages():
    with pytest.raises(ValueError, match="one that has a vector, got 'quen'; did you mean 'queen'"):
        TABLE.nearest("quen")
    with pytest.raises(ValueError, match="got 'xyzzy'; there are 5 words, the first of them 'king'"):
        TABLE.nearest("xyzzy")
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
        TABLE.nearest("king", k=0)
    with pytest.raises(ValueError, match="needs a word, got none"):
        TABLE.nearest([])
    with pytest.raises(ValueError, match="a str with letters, got ''"):
        TABLE.nearest("")


def test_spellings_among_very_many_words():
    words = [f"w{i}" for i in range(60_000)] + ["string"]
    assert nearest_spellings("strng", words) == ["string"]
