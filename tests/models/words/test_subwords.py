"""Pieces of words and their rows: those of fastText's program, as gensim has them."""

import pytest

from cutaway.models.words.subwords import hash_piece, piece_rows, pieces, subword_table

WORDS = ["cat", "naïve", "a", "東京都", "where"]


def test_pieces_and_hashes_are_those_of_gensim():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    for word in WORDS:
        theirs = fasttext.ft_ngram_hashes(word, 3, 6, 1000)
        assert sorted(hash_piece(piece) % 1000 for piece in pieces(word)) == sorted(theirs)


def test_by_hand():
    assert pieces("a") == ["<a>"]
    assert hash_piece("") == 2166136261
    assert piece_rows("a", 10, 100) == [10 + hash_piece("<a>") % 100]


def test_the_table_lists_each_word_with_its_pieces():
    rows, starts = subword_table(["a", "cat"], 50)
    assert starts.tolist() == [0, 2]
    assert rows.tolist() == [0, *piece_rows("a", 2, 50), 1, *piece_rows("cat", 2, 50)]
