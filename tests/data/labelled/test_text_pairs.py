"""Pairs of texts: which columns they are, what is left out, and parts that share no first text."""

import pytest

from cutaway.data.labelled.text_pairs import find_columns, read_text_pairs


@pytest.mark.parametrize(
    ("names", "asked", "expected"),
    [
        (["anchor", "positive"], (), ("anchor", "positive", "", "")),
        (["Query", "Passage", "negative"], (), ("Query", "Passage", "negative", "")),
        (["a", "b"], (), ("a", "b", "", "")),
        (["id", "a", "b"], ("b", "a"), ("b", "a", "", "")),
        (["a", "b", "c"], ("a", "b", "c"), ("a", "b", "c", "")),
        (["score", "sentence2", "sentence1"], (), ("sentence1", "sentence2", "", "score")),
    ],
)
def test_columns(names, asked, expected):
    assert find_columns(names, asked) == expected


def test_columns_that_are_not_there():
    with pytest.raises(ValueError, match=r"pairs need two columns of texts, got 'id', 'a', 'b'; name them"):
        find_columns(["id", "a", "b"])
    with pytest.raises(ValueError, match=r"'first', 'second', got 'frist'; try 'first'"):
        find_columns(["first", "second"], ("frist", "second"))


def test_equal_first_texts_stay_together():
    table = {"anchor": [f"q{i % 20}" for i in range(60)], "positive": [f"a{i}" for i in range(60)]}
    pairs = read_text_pairs(table, validation=0.2, test=0.2)
    parts = [set(part.firsts) for part in (pairs.train, pairs.validation, pairs.open_test())]
    assert [len(part) for part in parts] == [12, 4, 4]
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]
    assert (
        dict(zip(pairs.train.seconds, pairs.train.firsts)).items()
        <= dict(zip(table["positive"], table["anchor"])).items()
    )


def test_scores_and_empty_texts(tmp_path):
    path = tmp_path / "scored.csv"
    rows = "\n".join(f"text {i},other {i},{i % 6}" for i in range(12))
    path.write_text(f"sentence1,sentence2,score\n{rows}\n,empty,3\n", encoding="utf-8")
    pairs = read_text_pairs(path, validation=0, test=0)
    assert pairs.validation is None
    assert pairs.train.scores.tolist() == [(i % 6) / 5 for i in range(12)]
    assert "left out: 1 pairs with an empty text" in pairs.summary()
    assert "scores: from 0 to 5, brought to 0 to 1" in pairs.summary()
    path.write_text("sentence1,sentence2,score\na,b,high\nc,d,1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="scores must be numbers, got 'high' in the column 'score'"):
        read_text_pairs(path)


def test_too_few():
    with pytest.raises(ValueError, match="needs at least two pairs to train on, got 1"):
        read_text_pairs({"anchor": ["a"], "positive": ["b"]}, validation=0, test=0)
