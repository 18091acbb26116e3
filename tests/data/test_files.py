"""Text from files as people have them, and what is said of those that are not text."""

import bz2
import gzip
import io
import lzma
import os
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data import files
from cutaway.data.files import TextSource, find_files, open_plain, read_pieces
from cutaway.data.samples.embedded import resolve

TEXT = "Grüße, κόσμε!\nzwei\n"


def read(path, **options):
    return "".join(TextSource.from_path(path, **options).pieces())


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress], ids=["plain", "gz", "xz", "bz2"])
def test_packed_or_not_whatever_the_name(tmp_path, pack):
    path = tmp_path / "text.txt"
    path.write_bytes(pack(TEXT.encode()))
    assert read(path) == TEXT


def test_zip_of_one(tmp_path):
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/_about.txt", "notes")
        archive.writestr("data/text.txt", TEXT)
    assert read(path) == TEXT


def test_zip_of_several(tmp_path):
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    with pytest.raises(
        ValueError, match=r"a zip must hold one data file, got 2 in text.zip \(a.txt, b.txt\); unpack it"
    ):
        read(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
def test_cut_off(tmp_path, pack):
    path = tmp_path / "text.gz"
    path.write_bytes(pack(bytes(range(32, 127)) * 5000)[:-20])
    with pytest.raises(
        ValueError, match=r"a packed file must be whole, got text.gz which is damaged \(it ends too early\); copy it"
    ):
        read(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
def test_damaged_in_the_middle(tmp_path, pack):
    content = bytearray(pack(random.Random(0).randbytes(50_000).hex().encode()))
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    (tmp_path / "text.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a packed file must be whole, got text\.gz which is damaged \(.*\); copy it"):
        read(tmp_path / "text.gz")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1253", "iso8859-7"])
def test_declared_encoding(tmp_path, encoding):
    text = TEXT.replace("ü", "u").replace("ß", "ss")
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode(encoding))
    assert read(path, encoding=encoding) == text


def test_byte_order_mark_and_line_ends(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read(path) == "a\nb\nc\n"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=60), st.integers(1, 7), st.booleans())
def test_pieces_are_the_text_wherever_they_are_cut(text, size, windows):
    content = text.replace(" ", "\r\n" if windows else "\n").encode()
    before = files.PIECE
    files.PIECE = size
    try:
        pieces = list(read_pieces(io.BytesIO(content), "utf-8", "x"))
    finally:
        files.PIECE = before
    assert "".join(pieces) == io.TextIOWrapper(io.BytesIO(content), "utf-8-sig").read()


def test_folder_in_order_each_file_on_a_new_line(tmp_path):
    for name, text in {"b/c.txt": "third", "a.txt": "first", "b/a.txt": "second\n", ".hidden": "no"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("no")
    assert list(find_files(tmp_path)) == ["a.txt", "b/a.txt", "b/c.txt"]
    assert read(tmp_path) == "first\nsecond\nthird"
    assert read(tmp_path, pattern="c.*") == "third"


def test_nothing_there(tmp_path):
    (tmp_path / "corpus.txt").write_text("x")
    with pytest.raises(
        ValueError, match=r"data must be a file or folder that exists, got .*corpsu.txt; did you mean corpus"
    ):
        find_files(tmp_path / "corpsu.txt")
    with pytest.raises(ValueError, match=r"must hold at least one file '\*.md', got .*; look for a misspelling"):
        find_files(tmp_path, "*.md")
    with pytest.raises(ValueError, match="got an empty path; give its name"):
        find_files("")


@pytest.mark.untyped
def test_no_path_at_all():
    with pytest.raises(ValueError, match="vertices must be a file or folder that exists, got True"):
        find_files(True, setting="vertices")


def test_wrong_encoding(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"x" * 100_000 + "né".encode("latin-1"))
    with pytest.raises(
        ValueError, match=r"text must be utf-8, got byte 0xe9 at position 100,001, in line 1 of text.txt; declare its"
    ):
        read(path)
    assert read(path, encoding="latin-1").endswith("né")


def test_character_cut_off_at_the_end(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("é".encode()[:1])
    with pytest.raises(ValueError, match=r"got byte 0xc3 at position 0, in line 1 of text.txt"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-9", "base64"])
def test_unknown_encoding(tmp_path, encoding):
    (tmp_path / "text.txt").write_text("x")
    with pytest.raises(ValueError, match=f"encoding must be a text encoding that Python knows, got '{encoding}'; try "):
        read(tmp_path / "text.txt", encoding=encoding)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "got a.txt which is a PNG image; extract its text first"),
        (b"%PDF-1.7\nhello", "got a.txt which is a PDF document; extract its text first"),
        (b"hello\0world", "which holds 1 control bytes in its first 11; give a text file, or declare its encoding"),
        (bytes(range(1, 32)) * 10, r"which holds 250 control bytes in its first 310; give a text file"),
        ("hello".encode("utf-16"), 'got a.txt which begins as UTF-16 does; pass encoding="utf-16"'),
    ],
    ids=["png", "pdf", "nul", "controls", "utf-16"],
)
def test_binary_files(tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(path)


def test_changed_while_it_was_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    source = TextSource.from_path(path)
    source.expect_unchanged()
    path.write_text("xy")
    with pytest.raises(
        ValueError, match=r"text must not change while it is read, got a.txt which did; begin again when"
    ):
        source.expect_unchanged()


def test_from_memory():
    source = TextSource.from_text(TEXT, "mine")
    assert "".join(source.pieces()) == "".join(source.pieces()) == TEXT
    assert source.fingerprint.size == len(TEXT.encode())


def test_plain_files_are_not_read_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * (files.PIECE + 1))
    with open_plain(path) as stream:
        sizes = [len(piece) for piece in read_pieces(stream, "utf-8", "a.txt")]
    assert sizes == [files.PIECE, 1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_refused_and_never_suggested(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.txt")
    for read in (find_files, lambda path: open_plain(path).__enter__()):
        with pytest.raises(ValueError, match=r"must be a regular file or a folder, got .*pipe\.txt, which is a pipe"):
            read(tmp_path / "pipe.txt")
    with pytest.raises(ValueError, match=r"which is a device; write its content to a file, and give that"):
        find_files("/dev/zero")
    with pytest.raises(ValueError, match=r"got .*pipes\.txt; look for a misspelling"):
        find_files(tmp_path / "pipes.txt")
    with pytest.raises(ValueError, match=r"got '.*pipes\.txt', which is none; give a path"):
        resolve(tmp_path / "pipes.txt", "text")
    (tmp_path / "link.txt").symlink_to(tmp_path / "nowhere.txt")
    for read in (find_files, lambda path: resolve(path, "text")):
        with pytest.raises(
            ValueError, match=r"which is a link to .*nowhere\.txt, where there is nothing; mend the link"
        ):
            read(tmp_path / "link.txt")
    with pytest.raises(ValueError, match=r"got .*links\.txt; look for a misspelling"):
        find_files(tmp_path / "links.txt")
