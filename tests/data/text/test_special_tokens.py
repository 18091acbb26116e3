"""Marks and gaps in a text: by hand, and as the library that reads the tokenizer's file sees them."""

import pytest
import tokenizers as hf

from cutaway.data.files import TextSource
from cutaway.data.text.corpus import read_text
from cutaway.data.text.special_tokens import SPECIAL_TOKENS, encode_gaps, find_special_tokens
from cutaway.data.text.tokenizers import Characters, load_tokenizer, train_bpe

TEXT = "the cat sat on the mat and the dog sat on the cat\n" * 40


@pytest.fixture(params=["characters", "bytes", "bpe-300"])
def tokenizer(request: pytest.FixtureRequest):
    return read_text(TextSource.from_text(TEXT), request.param, special_tokens=True).tokenizer


def test_characters_by_hand():
    letters = Characters("abc ", special=SPECIAL_TOKENS)  # ' ' 0, a 1, b 2, c 3, then the special tokens
    assert find_special_tokens(letters) == (5, 6, 7, "[MASK]")
    assert encode_gaps(letters, "a [MASK]c") == [5, 1, 0, 7, 3, 6]
    assert encode_gaps(letters, "[MASK][MASK]") == [5, 7, 7, 6]


def test_a_masked_piece_of_a_word_holds_the_space_before_it():
    pieces = read_text(TextSource.from_text(TEXT), "bpe-300", special_tokens=True).tokenizer
    special = find_special_tokens(pieces)
    assert [pieces.id_of(name) for name in SPECIAL_TOKENS] == [0, 1, 2, 3]
    whole = pieces.encode("the cat sat").tolist()
    assert pieces.decode([whole[1]]) == " cat"
    assert encode_gaps(pieces, "the [MASK] sat") == [special.start, whole[0], special.mask, whole[2], special.end]


@pytest.mark.parametrize("text", ["the [MASK] sat", "[MASK] cat", "the c[MASK]t sat on [MASK]", "the cat"])
def test_other_libraries_read_the_same_ids(tokenizer, text: str, tmp_path):
    tokenizer.save(tmp_path)
    theirs = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode(text).ids == encode_gaps(tokenizer, text)
    again = load_tokenizer(tmp_path)
    assert (type(again), again.key) == (type(tokenizer), tokenizer.key)
    assert encode_gaps(again, text) == encode_gaps(tokenizer, text)


def test_marks_are_never_read_from_a_text():
    """A text with '[MASK]' in it, to train on, is made of its characters."""
    corpus = read_text(TextSource.from_text("a [MASK] b [CLS] c\n" * 50), "bpe-300", special_tokens=True)
    assert not set(corpus.train[:].tolist()) & {0, 1, 2, 3}
    assert corpus.tokenizer.decode(corpus.train[:]).startswith("a [MASK] b [CLS]")


def test_marks_have_tokens_of_their_own_in_the_cache():
    source = TextSource.from_text(TEXT)
    plain, marked = read_text(source, "characters"), read_text(source, "characters", special_tokens=True)
    assert marked.vocabulary == plain.vocabulary + 4
    assert marked.train[:].tolist() == plain.train[:].tolist()


def test_the_marks_of_others():
    roberta = train_bpe([TEXT], 300, special=["<s>", "</s>", "<mask>"])
    assert find_special_tokens(roberta) == (0, 1, 2, "<mask>")
    with pytest.raises(ValueError, match=r"must have the tokens \[CLS\], \[SEP\], \[MASK\], got one without; use"):
        find_special_tokens(Characters("abc"))
    with pytest.raises(ValueError, match=r"must have the tokens \[CLS\]"):
        read_text(TextSource.from_text(TEXT), Characters(set(TEXT)), special_tokens=True)
