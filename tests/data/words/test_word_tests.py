"""Files that test word vectors: read, and damaged ones named."""

import pytest

from cutaway.data.words.word_tests import read_analogies, read_rated_pairs


def test_the_real_files(data_folder):
    folder = data_folder / "text" / "word_eval"
    assert len(read_rated_pairs(folder / "wordsim353.tsv")) == 353
    assert len(read_rated_pairs(folder / "simlex999.txt")) == 999
    questions = read_analogies(folder / "questions-words.txt.xz")
    assert len(questions) == 19_544
    assert questions[0] == ("Athens", "Greece", "Baghdad", "Iraq", "capital-common-countries")
    assert len({q.section for q in questions}) == 14


def test_commas_spaces_and_headings(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("word1,word2,score\n# a note\ncat,dog,7.5\nlaw , cat , 1\n")
    assert read_rated_pairs(path) == [("cat", "dog", 7.5), ("law", "cat", 1.0)]
    path.write_text("cat dog 7.5\nlaw cat 1\n")
    assert read_rated_pairs(path)[0] == ("cat", "dog", 7.5)


def test_damage_is_named(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text("cat\tdog\t7\nlaw\tcat\n")
    with pytest.raises(ValueError, match=r"two words and a number, got 'law\\tcat' in line 2"):
        read_rated_pairs(path)
    with pytest.raises(ValueError, match=r"four words, got 'cat\\tdog\\t7' in line 1"):
        read_analogies(path)
    path.write_text("cat\tdog\t7\n")
    with pytest.raises(ValueError, match="at least two pairs of words, got 1"):
        read_rated_pairs(path)
    path.write_text(": a section\n")
    with pytest.raises(ValueError, match="at least one line of four words"):
        read_analogies(path)
    path.write_text("")
    with pytest.raises(ValueError, match="which is empty"):
        read_analogies(path)
    with pytest.raises(ValueError, match=r"must be a file, got 'nowhere\.txt'"):
        read_rated_pairs("nowhere.txt")
