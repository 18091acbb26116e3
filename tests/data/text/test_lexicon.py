"""What a lexicon knows of words: by hand, words never seen, round trip."""

import pytest

from cutaway.data.text.lexicon import LETTERS, Lexicon, affixes, letters, normal_form, shape

LEXICON = Lexicon.from_sentences(
    [("The", "dogs", "ran", "in", "1987"), ("the", "cats", "ran")],
    [("D", "N", "V", None, "NUM"), ("D", "N", "V")],
    ["the", "cats", "Paris"],
)


def test_features_by_hand():
    assert normal_form("May-1987") == "may-0000"
    assert letters("abcdefghijklmnopqrstuvwxyz") == "abcdefghstuvwxyz"
    assert affixes("Dogs") == ("d-", "do-", "dog-", "dogs-", "-s", "-gs", "-ogs", "-dogs")
    assert [shape(w) for w in ("Unhappily", "U.S.", "1987", "iPhone", "—", "日本語")] == [
        "Xxx",
        "X.X.",
        "dd",
        "xXxx",
        "—",
        "xx",
    ]


def test_counts_make_the_lexicon():
    assert LEXICON.tags == ("D", "N", "NUM", "V")
    assert LEXICON.words == ("ran", "the", "0000", "cats", "dogs", "in")  # by count, then by letters
    assert LEXICON.counts == (2, 2, 1, 1, 1, 1)
    assert LEXICON.shapes == ("xx",)  # that of several words; Xxx and dd are of one each
    assert {"-s", "r-", "t-"} & set(LEXICON.affixes) == {"-s", "t-"}
    assert LEXICON.sizes == {
        "words": 7,
        "characters": len(LEXICON.characters) + 2,
        "affixes": len(LEXICON.affixes) + 1,
        "shapes": 2,
        "vectors": 4,
    }


def test_encoding():
    found = LEXICON.encode(["THE", "2024", "cats", "paris", "Paris", "ẞ"], hide=0.5)
    assert found.word.tolist() == [2, 3, 4, 0, 0, 0]
    assert found.vector.tolist() == [1, 0, 2, 0, 3, 0]
    assert found.hide.tolist() == pytest.approx([0.2, 1 / 3, 1 / 3, 1.0, 1.0, 1.0])  # a / (a + n)
    assert found.characters.shape == (6, LETTERS)
    assert found.characters[5].tolist() == [1] + [0] * (LETTERS - 1)  # a letter never seen, then the end
    assert (found.characters[2, 1:4] > 1).all()
    assert LEXICON.encode(["the"]).hide.tolist() == [0.0]
    assert LEXICON.knows("Cats")
    assert not LEXICON.knows("mice")


def test_round_trip():
    assert Lexicon.from_dict(LEXICON.to_dict()) == LEXICON
