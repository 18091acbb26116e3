"""Where words begin: by hand, and as the tokenizers themselves say (`Encoding.word_ids`)."""

from pathlib import Path

import numpy as np
import pytest
import tokenizers as hf
from tokenizers import models, pre_tokenizers

from cutaway.data.text.tokenizers import Bytes, Characters, Tokenizer, train_bpe
from cutaway.data.text.word_starts import word_table
from cutaway.data.text.word_tokenizer import build_words

TEXT = "The cat's tail, 42cm long: unbelievable!\n\n    An  indented line_of_code(x=3) and (naïve) ünïcode 日本語."


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    """The text cut where words begin, by our table."""
    ids = tokenizer.encode(text)
    starts = np.flatnonzero(word_table(tokenizer).starts(ids[None])[0])
    return [tokenizer.decode(part) for part in np.split(ids, starts[1:])]


def word_piece() -> Tokenizer:
    vocabulary = {name: i for i, name in enumerate(["[UNK]", "un", "##believ", "##able", "cat", "##s", ",", "a"])}
    inner = hf.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", continuing_subword_prefix="##"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Tokenizer(inner)


def test_by_hand():
    words = ["the", " cat", ",", " 42", "cm", "\n\n  ", " x"]
    assert pieces(Bytes(), "the cat, 42cm\n\n   x") == words
    assert pieces(Characters("the cat, 42cm\n x"), "the cat, 42cm\n\n   x") == words


@pytest.mark.parametrize("size", [300, 600])
def test_bytes_and_their_pairs_as_gpt2_cuts_a_text(size: int):
    """Where words are concerned; a run of white space may be cut further by the tokenizer itself."""
    tokenizer = train_bpe([TEXT, Path(__file__).read_text(encoding="utf-8")], size)
    encoding = tokenizer.inner.encode(TEXT.replace("cat's", "cats"), add_special_tokens=False)
    table, ids, words = word_table(tokenizer), np.array(encoding.ids), np.array(encoding.word_ids)
    theirs = np.r_[True, words[1:] != words[:-1]]
    filled = table.filled[ids] | table.space[ids]
    assert np.array_equal(table.starts(ids[None])[0][filled], theirs[filled])


def test_word_pieces_as_the_tokenizer_says():
    tokenizer = word_piece()
    encoding = tokenizer.inner.encode("unbelievable cats, a cat")
    assert encoding.tokens == ["un", "##believ", "##able", "cat", "##s", ",", "a", "cat"]
    words = np.array(encoding.word_ids)
    starts = word_table(tokenizer).starts(np.array([encoding.ids]))[0]
    assert starts.tolist() == [True, *(words[1:] != words[:-1]).tolist()]


def test_each_word_of_a_vocabulary_of_words_is_one():
    tokenizer = build_words(["the", " cat", "\n"])
    table = word_table(tokenizer)
    assert table.starts(np.array([[0, 1, 1, 2]])).all()
    assert table.filled[:3].tolist() == [True, True, False]


def test_sentence_pieces_begin_with_their_mark():
    inner = hf.Tokenizer(models.BPE({"▁the": 0, "▁c": 1, "at": 2, "s": 3, ".": 4}, []))
    starts = word_table(Tokenizer(inner)).starts(np.array([[0, 1, 2, 3, 4, 1, 2]]))
    assert starts.tolist() == [[True, True, False, False, True, True, False]]
