"""Files of word vectors: read and written as gensim reads and writes them; what is damaged is named."""

import gzip
import lzma

import numpy as np
import pytest

from cutaway.data.text.vector_files import read_vectors, write_vectors

WORDS = ["the", "cat", "naïve", "a_b"]
MATRIX = np.array([[0.1, -2.5e-8, 3.0], [1.0, 2.0, -3.25], [1e10, 0.0, -0.0], [7.0, 8.0, 9.0]], np.float32)


def gensim_vectors():
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed.add_vectors(WORDS, MATRIX)
    return keyed


@pytest.mark.parametrize(("name", "binary"), [("v.txt", False), ("v.bin", True), ("v.txt.gz", False)])
def test_gensim_reads_what_is_written_to_the_last_bit(tmp_path, name, binary):
    models = pytest.importorskip("gensim.models")
    write_vectors(tmp_path / name, WORDS, MATRIX)
    found = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=binary)
    assert found.index_to_key == WORDS
    assert np.array_equal(found.vectors, MATRIX)


@pytest.mark.parametrize(("name", "binary"), [("v.txt", False), ("v.bin", True), ("v.bin.gz", True)])
def test_what_gensim_writes_is_read(tmp_path, name, binary):
    gensim_vectors().save_word2vec_format(str(tmp_path / name), binary=binary)
    words, matrix = read_vectors(tmp_path / name)
    assert words == WORDS
    assert np.array_equal(matrix, MATRIX)
    assert matrix.dtype == np.float32


def test_gensim_reads_text_without_a_header(tmp_path):
    models = pytest.importorskip("gensim.models")
    write_vectors(tmp_path / "glove.txt", WORDS, MATRIX, header=False)
    found = models.KeyedVectors.load_word2vec_format(str(tmp_path / "glove.txt"), binary=False, no_header=True)
    assert np.array_equal(found.vectors, MATRIX)


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.txt.xz", "v.bin.bz2"])
def test_round_trip(tmp_path, name):
    write_vectors(tmp_path / name, WORDS, MATRIX)
    words, matrix = read_vectors(tmp_path / name)
    assert words == WORDS
    assert matrix.tobytes() == MATRIX.tobytes()  # −0.0 too
    some = read_vectors(tmp_path / name, words={"cat", "a_b", "unknown"})
    assert some.words == ["cat", "a_b"]
    assert np.array_equal(some.matrix, MATRIX[[1, 3]])
    assert read_vectors(tmp_path / name, words=[]).matrix.shape == (0, 3)


def test_glove_without_header_with_spaces_in_words_and_odd_line_ends(tmp_path):
    (tmp_path / "g.txt").write_bytes("the 1 2\n. . 3 4\r\nto\u2028day\u00a0 5 6 \n\nthe 7 8\n".encode())
    words, matrix = read_vectors(tmp_path / "g.txt")
    assert words == ["the", ". .", "to\u2028day\u00a0"]
    assert matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_matrix_with_its_words(tmp_path):
    with np.errstate(over="ignore"):
        np.save(tmp_path / "v.npy", MATRIX.astype(np.float16))
    with lzma.open(tmp_path / "words.txt.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join(WORDS))
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress((tmp_path / "v.npy").read_bytes()))
    finite = [0, 1, 3]  # 1e10 is infinite in float16
    with pytest.raises(ValueError, match=r"finite numbers, got inf in row 3 of .*v\.npy"):
        read_vectors(tmp_path / "v.npy")
    words, matrix = read_vectors(tmp_path / "v.npy.gz", words=[WORDS[i] for i in finite])
    assert words == [WORDS[i] for i in finite]
    assert np.array_equal(matrix, MATRIX[finite].astype(np.float16).astype(np.float32))


def test_glove(data_folder):
    words, matrix = read_vectors(data_folder / "weights" / "glove" / "glove.6B.50d.top20k.f16.npy.xz", ["king", "the"])
    assert words == ["the", "king"]
    assert matrix.shape == (2, 50)


def write(folder, content):
    path = folder / "v.txt"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least one word, got .*empty"),
        (b"2 3\nthe 1 2 3\ncat 1 2\n", r"one width, got 2 numbers where 3 should be in line 3 of .*v\.txt"),
        (b"the 1 2 3\ncat 1 2 3 4\n", r"one width, got 4 numbers where 3 should be in line 2"),
        (b"2 3\nthe 1 2 3\ncat 1 x 3\n", r"must be of numbers, got 'x' in line 3"),
        (b"the 1 nan\n", "finite numbers, got nan in line 1"),
        (b"5 2\nthe 1 2\ncat 3 4\n", "as many vectors as its first line says, got 2 of 5"),
        (b"1 2\nthe 1 2\ncat 3 4\n", "as many vectors as its first line says, got 2 of 1"),
        (b"hello\nworld\n", "a word and its numbers, got 'hello' as line 1"),
        (b"caf\xe9 1 2\n", r"words must be utf-8, got byte 0xe9 in line 1"),
        (b"3 2\nthe " + np.float32([1, 2]).tobytes() + b"\ncat \x00\x01", "first line says, got 1 of 3"),
        (b"1 2\nthe " + np.float32([1, 2]).tobytes() + b"more", "got 4 bytes or more after the last of 1"),
        (b"1 9999999\nthe \x00", "1 to 1,048,576 numbers, got 9,999,999"),
        (b"2 2\n" + b"\x01" * 20_000, "10,000 bytes without one as word 1"),
    ],
)
def test_damage_is_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_vectors(write(tmp_path, content))


def test_other_encodings(tmp_path):
    assert read_vectors(write(tmp_path, b"caf\xe9 1 2\n"), encoding="latin-1").words == ["café"]


def test_matrices_that_are_none(tmp_path):
    np.save(tmp_path / "v.npy", MATRIX)
    with pytest.raises(ValueError, match=r"needs its words in words\.txt beside it"):
        read_vectors(tmp_path / "v.npy")
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    with pytest.raises(ValueError, match=r"got 2 lines in .*words\.txt for 4 rows"):
        read_vectors(tmp_path / "v.npy")
    np.save(tmp_path / "v.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"of floats, .*got int64 of shape \(3,\)"):
        read_vectors(tmp_path / "v.npy")
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="must hold a plain array"):
        read_vectors(tmp_path / "v.npy")


def test_words_that_cannot_be_written(tmp_path):
    for word in ("new york", "", "line\nend"):
        with pytest.raises(ValueError, match="letters and no space"):
            write_vectors(tmp_path / "v.txt", [word], MATRIX[:1])
    with pytest.raises(ValueError, match=r"written as \.txt, \.vec or \.bin"):
        write_vectors(tmp_path / "v.csv", WORDS, MATRIX)
    with pytest.raises(ValueError, match="got 1 for 4"):
        write_vectors(tmp_path / "v.txt", ["a"], MATRIX)
    assert not (tmp_path / "v.txt").exists()
