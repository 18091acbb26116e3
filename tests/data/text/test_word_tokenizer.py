"""Words by hand, the law that tokens in a row are the text, and the Hugging Face library on the same file."""

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.text.corpus import read_text
from cutaway.data.text.tokenizers import load_tokenizer
from cutaway.data.text.word_tokenizer import UNKNOWN_WORD, Words, build_words, train_words

TEXT = "The cat sat, the cat's hat sat.\n\n  The dog -- the <unk> dog!\n"


def words(text: str) -> list[str]:
    tokenizer = train_words([text], 1000)
    return [tokenizer.inner.id_to_token(int(i)) for i in tokenizer.encode(text)]


def test_a_text_by_hand():
    assert words(TEXT) == [
        *["The", " cat", " sat", ",", " the", " cat's", " hat", " sat", ".", "\n", "\n", " ", " The", " dog", " --"],
        *[" the", UNKNOWN_WORD, " dog", "!", "\n"],
    ]


def test_the_commonest_are_kept():
    kept = train_words([" x y y z z z"], 3)
    assert kept.encode(" z y x w").tolist() == [0, 1, 2, 2]
    assert kept.decode([0, 1, 2]) == " z y <unk>"


@given(st.text(alphabet="ab'’.-_1é \n\t\r\u00a0東", max_size=60))
def test_tokens_in_a_row_are_the_text(text: str):
    tokenizer = train_words([text or "a"], 1000)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_other_libraries_read_the_same_ids(tmp_path):
    tokenizer = train_words([TEXT], 12)
    tokenizer.save(tmp_path / "tokenizer.json")
    theirs, again = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), load_tokenizer(tmp_path)
    assert isinstance(again, Words)
    assert again.kind == "words"
    assert again.key == tokenizer.key
    for text in (TEXT, "unseen words, the cat", ""):
        assert theirs.encode(text).ids == tokenizer.encode(text).tolist() == again.encode(text).tolist()


def test_a_corpus_in_words_counts_its_training_part_alone(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two three four " * 50 + "five five five five " * 20, encoding="utf-8")
    corpus = read_text(path, "words-6", validation=0.2, test=0.1)
    assert " five" not in corpus.tokenizer.inner.get_vocab()
    assert corpus.vocabulary <= 6
    assert read_text(path, "words").tokenizer.kind == "words"


def test_special_tokens_come_last():
    tokenizer = build_words(["a", " b"], special=["[MASK]"])
    assert tokenizer.special_tokens == {"[MASK]": 3}
    assert tokenizer.encode("a b[MASK]", special=True).tolist() == [0, 1, 3]


def test_too_small_a_vocabulary():
    with pytest.raises(ValueError, match="room for one word beside the unknown, got 1; try tokenizer='words-10000'"):
        train_words(["a b"], 1)
