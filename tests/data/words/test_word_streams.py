"""Words of a text: split, counted, cut into parts, kept as ids; streamed from disk."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.files import TextSource
from cutaway.data.words.word_streams import read_counted_words, read_words, split_words, write_counted_words

TEXT = "the cat sat . The dog sat ; " * 20 + "once twice twice "


def words_of(corpus, tokens):
    return [corpus.words[i] for i in tokens[:]]


def test_vocabulary_counts_and_ids():
    corpus = read_words(TextSource.from_text(TEXT), least=2)
    assert corpus.words == ["sat", "the", "cat", "dog", "twice"]
    assert corpus.counts.tolist() == [40, 40, 20, 20, 2]
    assert words_of(corpus, corpus.train)[:6] == ["the", "cat", "sat", "the", "dog", "sat"]
    assert corpus.raw == {"train": 123, "validation": 0, "test": 0}
    assert corpus.validation is None


def test_parts_follow_each_other_and_the_vocabulary_is_that_of_training():
    text = "a b c d e f g h i j " * 10 + "new new new new new "
    corpus = read_words(TextSource.from_text(text), least=1, validation=0.2, test=0.1)
    split = text.split()
    assert corpus.raw == {"train": 73, "validation": 21, "test": 11}
    assert words_of(corpus, corpus.train) == split[:73]
    assert words_of(corpus, corpus.validation) == split[73:94]
    assert words_of(corpus, corpus.open_test()) == [w for w in split[94:] if w != "new"]
    assert "new" not in corpus.words


@given(st.text(alphabet="ab \n'é.-", max_size=60), st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_pieces_of_any_length_give_the_same_words(text, cuts, letters):
    by = "letters" if letters else "spaces"
    borders = sorted({0, len(text), *(min(c, len(text)) for c in cuts)})
    pieces = [text[a:b] for a, b in pairwise(borders)]
    whole = [word for stretch in split_words([text], by) for word in stretch]
    assert [word for stretch in split_words(pieces, by) for word in stretch] == whole
    if by == "spaces":
        assert whole == text.lower().split()


def test_capitals_spaces_and_phrases():
    source = TextSource.from_text("New York. is New York. " * 30 + "is it " * 40)
    assert read_words(source, lower=False, by="spaces").words == ["is", "New", "York.", "it"]
    joined = read_words(source, phrases=1, threshold=3.0)
    assert joined.counts[joined.words.index("new_york")] == 60
    assert "york" not in joined.words


def test_text8_has_the_counts_of_its_readme(data_folder):
    corpus = read_words(data_folder / "text" / "text8_first10MB.txt.xz")
    assert (corpus.raw["train"], len(corpus.words)) == (1_706_282, 19_501)
    assert corpus.words[:3] == ["the", "of", "one"]


def test_a_file_is_read_again_from_the_cache(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    one, two = read_words(path, least=2), read_words(path, least=2)
    assert one.words == two.words
    assert np.array_equal(one.train[:], two.train[:])
    path.write_text(TEXT + "dog " * 100)
    assert read_words(path, least=2).counts[0] == 120


@pytest.mark.parametrize(
    ("text", "least", "message"),
    [
        ("", 5, "must hold words, got text with none"),
        (" . , !", 5, "must hold words, got text with none"),
        (
            "a b c a",
            5,
            r"seen min_count=5 times, got 0 in text \(the most frequent, 'a', is there 2 times\); try min_count=1",
        ),
        ("word " * 9, 5, "got 1 in text .*'word', is there 9 times.*give a longer text"),
    ],
)
def test_too_few_words_are_named(text, least, message):
    with pytest.raises(ValueError, match=message):
        read_words(TextSource.from_text(text), least=least)


def test_what_is_no_text_of_words(tmp_path):
    with pytest.raises(ValueError, match=r"spaces between them, got 1,\d\d\d,\d\d\d characters without one"):
        read_words(TextSource.from_text("x" * 2_000_000))
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(ValueError, match="a PNG image"):
        read_words(tmp_path / "image.png")
    with pytest.raises(ValueError, match="by must be"):
        read_words(TextSource.from_text("a b"), by="lines")


def test_files_of_counted_words(tmp_path):
    write_counted_words(tmp_path / "w.txt", ["a", "b_c"], [3, 2])
    words, counts = read_counted_words(tmp_path / "w.txt")
    assert Counter(dict(zip(words, counts.tolist()))) == {"a": 3, "b_c": 2}
    (tmp_path / "w.txt").write_text("a three\n")
    with pytest.raises(ValueError, match="one a line with their counts"):
        read_counted_words(tmp_path / "w.txt")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n \n"])
def test_lines_are_sentences_unless_windows_may_reach_across(end):
    text = end.join(["the cat sat", "the dog ran", "rare", "the cat ran"] * 3)
    corpus = read_words(TextSource.from_text(text), least=4)  # of these lines: the, cat, ran
    assert corpus.train.lines.ids.tolist() == [0, 2, 4, 7, 9, 11, 14, 16, 18]
    assert "9 lines of 2.3 words" in corpus.summary()
    across = read_words(TextSource.from_text(text), least=4, lines=False)
    assert across.train.lines is None
    assert np.array_equal(across.train.ids, corpus.train.ids)
    assert "lines" not in across.summary()


def test_lines_are_whole_whatever_the_pieces_and_phrases_end_with_them():
    text = "new york\nyork new\n" * 40
    whole = list(split_words([text], lines=True))
    assert whole == [["new", "york"], ["york", "new"]] * 40
    assert list(split_words(iter(text), lines=True)) == whole
    joined = read_words(TextSource.from_text("a b\nc\nb\n" * 50), least=2, phrases=1, threshold=0.5)
    assert joined.words == ["a_b", "b", "c"]  # "b c" and "c b" stand on either side of a line's end
