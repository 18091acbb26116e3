"""Pairs of texts: which columns they are, what is left out, and parts that share no first text."""

import pytest

from cutaway.data.labelled.text_pairs import find_columns, halves, read_text_pairs


@pytest.mark.parametrize(
    ("names", "asked", "expected"),
    [
        (["anchor", "positive"], (), ("anchor", "positive", "", "")),
        (["Query", "Passage", "negative"], (), ("Query", "Passage", "negative", "")),
        (["a", "b"], (), ("a", "b", "", "")),
        (["id", "a", "b"], ("b", "a"), ("b", "a", "", "")),
        (["a", "b", "c"], ("a", "b", "c"), ("a", "b", "c", "")),
        (["score", "sentence2", "sentence1"], (), ("sentence1", "sentence2", "", "score")),
        (["text"], (), ("text", "", "", "")),
        (["id", "a", "score"], ("a",), ("a", "", "", "")),
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
    with pytest.raises(ValueError, match="needs at least two texts to train on, got 1"):
        read_text_pairs({"text": ["a"]}, validation=0, test=0)


def test_texts_without_a_partner(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(
        "\ufefffirst line here\r\n\r\n".encode() + "".join(f"text number {i}\r\n" for i in range(18)).encode()
    )
    pairs = read_text_pairs(path, validation=0.2, test=0.2)
    assert pairs.unpaired
    assert pairs.train.firsts == pairs.train.seconds
    assert len(pairs.train) == 11
    assert len(pairs.validation) == len(pairs.open_test()) == 4
    assert all(
        a == "text" and b.startswith("number ") for a, b in zip(pairs.validation.firsts, pairs.validation.seconds)
    )
    assert not {f"{a} {b}" for a, b in zip(pairs.validation.firsts, pairs.validation.seconds)} & set(pairs.train.firsts)
    assert "left out: 1 empty texts" in pairs.summary()
    assert "11 to train on, each a pair with itself under two dropout masks (SimCSE), 4 to evaluate" in pairs.summary()


def test_no_such_file(tmp_path):
    with pytest.raises(ValueError, match=r"data must be a file or folder that exists, got .*none\.txt"):
        read_text_pairs(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="data must be a file, got the folder"):
        read_text_pairs(tmp_path)


def test_lines_with_tabs_are_pairs(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("anchor\tpositive\n" + "".join(f"a {i}\tb {i}\n" for i in range(9)), encoding="utf-8")
    pairs = read_text_pairs(path, validation=0, test=0)
    assert not pairs.unpaired
    assert pairs.train.seconds == [f"b {i}" for i in range(9)]


def test_a_first_row_of_sentences_is_a_pair(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("Where is Tom?\t¿Dónde está Tom?\n" + "I am here.\tEstoy aquí.\n", encoding="utf-8")
    pairs = read_text_pairs(path, validation=0, test=0)
    assert pairs.columns == ("text1", "text2")
    assert pairs.train.firsts == ["Where is Tom?", "I am here."]


def test_halves():
    found = halves(["one two three four five", "二つの文", "x", " a b "])
    assert found.firsts == ["one two", "二つ", "a"]
    assert found.seconds == ["three four five", "の文", "b"]


def test_equal_pairs_say_what_is_wrong_with_them():
    same = {"a": ["the same text"] * 30, "b": [f"answer {i}" for i in range(30)]}
    with pytest.raises(
        ValueError, match=r"needs different first texts, got 30 pairs that all have the same \('the same text'\); add"
    ):
        read_text_pairs(same)
    with pytest.raises(ValueError, match=r"needs different second texts, got 30 pairs that all have the same"):
        read_text_pairs({"a": same["b"], "b": same["a"]})
    with pytest.raises(ValueError, match=r"needs different first texts, got 30 texts that all have the same"):
        read_text_pairs({"a": same["a"]})
    with pytest.raises(
        ValueError, match=r"at least two pairs to train on, got 1 of 1 \(left out: 29 pairs with an empty text\)"
    ):
        read_text_pairs({"a": ["x", *[""] * 29], "b": same["b"]}, validation=0.0, test=0.0)
    scored = {"a": same["b"], "b": same["a"], "score": [str(i / 30) for i in range(30)]}
    assert len(read_text_pairs(scored, ("a", "b")).splits.train) > 2  # with scores, second texts may be one
