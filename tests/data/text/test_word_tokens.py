"""Words and letters as tokens: the split, the vocabulary, unknown ones, and the way through a file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.text.tokenizers import load_tokenizer
from cutaway.data.text.word_tokens import split_words, train_letters, train_words

TEXTS = ["It isn't over, isn't it?", "It is the director's cut"]


def test_split():
    assert split_words(TEXTS[0]) == ["it", "is", "n't", "over", ",", "is", "n't", "it", "?"]
    assert split_words("can't won't DON'T 'tis") == ["ca", "n't", "wo", "n't", "do", "n't", "'tis"]
    assert split_words("") == []


def test_the_most_frequent_words_come_first():
    words = train_words(TEXTS, 3, more=["vector", "it"])
    assert words.inner.get_vocab() == {"<pad>": 0, "<unk>": 1, "is": 2, "it": 3, "n't": 4, "vector": 5}
    assert words.encode("It's a vector").tolist() == [3, 1, 1, 5]
    assert words.decode([3, 2]) == "it is"


@given(st.text(" \n'.,!?-_0aBcnté", max_size=30))
def test_the_tokenizer_cuts_as_split_words_does(text):
    words = train_words([text], 100)
    assert len(words.encode(text)) == len(split_words(text.lower()))


def test_through_a_file(tmp_path):
    for tokenizer in (train_words(TEXTS, 100), train_letters(TEXTS)):
        tokenizer.save(tmp_path / "tokenizer.json")
        again = load_tokenizer(tmp_path)
        assert again.key == tokenizer.key
        assert again.encode("It is <pad> new").tolist() == tokenizer.encode("It is <pad> new").tolist()


def test_letters():
    letters = train_letters(["ab\n", "bA"])
    assert letters.encode("Aab\nz").tolist() == [3, 4, 5, 2, 1]
    assert letters.vocabulary == 6


def test_refused():
    with pytest.raises(ValueError, match="at least one word, got 0"):
        train_words(TEXTS, 0)
