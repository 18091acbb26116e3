"""Text to tokens to parts: by hand, against a plain reading of the text, cached, in flat memory."""

import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import cutaway.data.text.corpus as ours
from cutaway.data.batches import Windows
from cutaway.data.files import TextSource
from cutaway.data.text.corpus import read_text
from cutaway.data.text.tokenizers import Bytes, Characters

KINDS = ["characters", "bytes", "bpe-300"]


def prose(count, seed=0):
    chance = random.Random(seed)
    words = ["".join(chance.choices("etaoinshrdluåß", k=chance.randint(1, 9))) for _ in range(500)]
    text = ""
    while len(text) < count:
        text += " ".join(chance.choices(words, k=12)) + chance.choice([".\n", ".\n\n", ", "])
    return text[:count]


def parts_of(corpus):
    return {"train": corpus.train, "validation": corpus.validation, "test": corpus.open_test()}


def test_by_hand():
    corpus = read_text(TextSource.from_text("abcabcabcd", "mine"), validation=0.2, test=0.1)
    assert corpus.vocabulary == 4
    assert corpus.train[:].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert corpus.validation[:].tolist() == [1, 2]
    assert corpus.open_test()[:].tolist() == [3]
    assert corpus.splits.test_reads == 1
    assert corpus.counts == {"train": 7, "validation": 2, "test": 1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_parts_put_together_are_the_text(tmp_path, kind, packed):
    text = prose(200_000)
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    corpus = read_text(path, kind)
    parts = {name: corpus.tokenizer.decode(tokens[:]) for name, tokens in parts_of(corpus).items()}
    assert parts == {"train": text[:180_000], "validation": text[180_000:190_000], "test": text[190_000:]}
    assert corpus.counts == {name: len(tokens) for name, tokens in parts_of(corpus).items()}
    assert corpus.train[:].dtype == np.uint16
    # no token reaches over a border: each part is encoded as if it were alone
    for name, tokens in parts_of(corpus).items():
        assert np.array_equal(tokens[:], corpus.tokenizer.encode(parts[name]))


def test_as_nanogpt_prepares_tiny_shakespeare(data_folder):
    path = data_folder / "text" / "tinyshakespeare.txt.xz"
    text = lzma.decompress(path.read_bytes()).decode()
    ids = {character: i for i, character in enumerate(sorted(set(text)))}
    corpus = read_text(path, validation=0.1, test=0)
    border = int(len(text) * 0.9)
    assert corpus.vocabulary == 65
    assert np.array_equal(corpus.train[:], [ids[c] for c in text[:border]])
    assert np.array_equal(corpus.validation[:], [ids[c] for c in text[border:]])
    # the digest is that of the file as it lies there, which README.md and sha256sum give
    assert corpus.fingerprint.digest == "21b40ccf4999c004256d116655824719001352dbc22636354d9cd0c645d03a4a"


def test_bpe_learns_from_the_training_part_alone():
    train = "low lower lowest " * 50
    rest = "zzq" * 50  # would give tokens of its own
    assert (len(train), len(rest)) == (850, 150)
    corpus = read_text(TextSource.from_text(train + rest), "bpe-280", validation=0.15, test=0)
    learned = [corpus.tokenizer.inner.id_to_token(i) for i in range(256, corpus.vocabulary)]
    assert learned
    assert not any("zz" in token or "zq" in token for token in learned)
    assert corpus.tokenizer.decode(corpus.validation[:]) == rest


def test_no_test_part():
    corpus = read_text(TextSource.from_text("x" * 100, "mine"), test=0)
    with pytest.raises(
        ValueError, match="open_test needs a test split, got mine with none; open the data with test above 0"
    ):
        corpus.open_test()
    assert read_text(TextSource.from_text("x" * 100), validation=0, test=0).validation is None


def test_the_test_part_is_not_opened_before_it_is_asked_for(monkeypatch, cache):
    opened: list[str] = []
    from_file = ours.Tokens.from_file
    monkeypatch.setattr(
        ours.Tokens, "from_file", lambda path, dtype: (opened.append(path.stem), from_file(path, dtype))[1]
    )
    corpus = read_text(TextSource.from_text(prose(5000)))
    assert len(corpus.train) == 4500
    assert opened == ["train", "validation"]
    assert len(corpus.open_test()) == 250
    assert opened == ["train", "validation", "test"]


def test_made_once_and_kept(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text(prose(10_000), encoding="utf-8")
    first = read_text(path, "bpe-300")
    monkeypatch.setattr(ours, "_write", lambda *arguments: pytest.fail("was made again"))
    again = read_text(path, "bpe-300")
    assert again.tokenizer.key == first.tokenizer.key
    assert np.array_equal(again.train[:], first.train[:])
    copy = tmp_path / "copy.txt"  # the content counts, not the place
    copy.write_bytes(path.read_bytes())
    assert read_text(copy, "bpe-300").fingerprint.digest == first.fingerprint.digest


def test_an_unchanged_file_is_not_even_read(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text(prose(1000), encoding="utf-8")
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))
    read_text(path)
    monkeypatch.setattr("cutaway.data.fingerprints.digest_file", lambda path: pytest.fail("was read"))
    read_text(path)


def test_what_is_asked_for_makes_the_entry(tmp_path, cache):
    path = tmp_path / "text.txt"
    path.write_text(prose(1000), encoding="utf-8")
    for options in ({}, {"tokenizer": "bytes"}, {"validation": 0.2}, {"test": 0.2}, {"encoding": "latin-1"}):
        read_text(path, **options)
    assert len(list((cache / "tokens").iterdir())) == 5
    path.write_text(prose(1000, seed=1), encoding="utf-8")
    read_text(path)
    assert len(list((cache / "tokens").iterdir())) == 6


def test_a_damaged_entry_is_made_anew(cache):
    source = TextSource.from_text(prose(1000))
    expected = read_text(source).train[:].tolist()
    (path,) = cache.rglob("train.bin")
    path.write_bytes(path.read_bytes()[:-2])
    assert read_text(source).train[:].tolist() == expected


def test_a_tokenizer_of_ones_own(tmp_path):
    source = TextSource.from_text("abcab")
    mine = Characters("abcdefgh")
    mine.save(tmp_path / "tokenizer.json")
    for given in (mine, str(tmp_path / "tokenizer.json"), str(tmp_path)):
        corpus = read_text(source, given, validation=0, test=0)
        assert corpus.vocabulary == 8
        assert corpus.train[:].tolist() == [0, 1, 2, 0, 1]
    with pytest.raises(
        ValueError, match="made of the 2 characters that the model was trained on, got 'c' at position 2"
    ):
        read_text(source, Characters("ab"))
    assert read_text(source, Bytes(), validation=0, test=0).train[:].tolist() == list(b"abcab")


def test_a_large_vocabulary_takes_32_bits():
    characters = [chr(i) for i in range(0x20000, 0x20000 + 65_537)]
    corpus = read_text(TextSource.from_text("".join(characters)), validation=0, test=0)
    assert corpus.vocabulary == 65_537
    assert corpus.train[:].dtype == np.uint32
    assert np.array_equal(corpus.train[:], np.arange(65_537))


def test_a_folder(tmp_path):
    (tmp_path / "b.txt").write_text("second")
    (tmp_path / "a.txt").write_text("first")
    corpus = read_text(tmp_path, validation=0, test=0)
    assert corpus.tokenizer.decode(corpus.train[:]) == "first\nsecond"
    assert read_text(tmp_path, pattern="b*", validation=0, test=0).characters == 6


def test_summary():
    source = TextSource.from_text(prose(1000), "mine")
    train, validation, test = (
        len(prose(1000)[part].encode()) for part in (slice(900), slice(900, 950), slice(950, None))
    )
    total = train + validation + test
    assert read_text(source, "bytes").summary().splitlines() == [
        f"mine: 1,000 characters, {total:,} tokens",
        f"tokenizer: bytes, vocabulary 256, {1000 / total:.2f} characters a token",
        f"parts: train {train:,}, validation {validation:,}, test {test:,}",
        f"digest: sha256 {source.fingerprint.digest}",
    ]


def test_empty_file(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(
        ValueError, match=r"text must hold at least one character, got empty.txt which is empty; give a file"
    ):
        read_text(tmp_path / "empty.txt")


def test_shorter_than_the_context(tmp_path):
    (tmp_path / "line.txt").write_text("one line\n")
    corpus = read_text(tmp_path / "line.txt")
    rule = "the train part of line.txt must hold more tokens than the context, got 8 tokens for context=64"
    with pytest.raises(ValueError, match=f"{rule}; use a longer text or context=7 at most"):
        corpus.expect_context(64)
    longer = read_text(TextSource.from_text("x" * 1000, "mine"))
    with pytest.raises(
        ValueError, match="the validation part of mine must hold more tokens than the context, got 50 tokens"
    ):
        longer.expect_context(64)
    longer.expect_context(49)


def test_binary_file(tmp_path):
    (tmp_path / "image.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(
        ValueError, match=r"text must be a text file, got image.txt which is a PNG image; extract its text"
    ):
        read_text(tmp_path / "image.txt")


def test_bad_choices():
    source = TextSource.from_text("abc")
    with pytest.raises(
        ValueError,
        match=r"tokenizer must be characters, bytes, words, words-N, bpe, bpe-N or the path of .*, got 'letters'; try",
    ):
        read_text(source, "letters")
    with pytest.raises(ValueError, match=r"vocabulary of a BPE must be above 256 .*, got 100; try tokenizer='bpe-512'"):
        read_text(source, "bpe-100")
    with pytest.raises(ValueError, match=r"must be at most 10,000,000, got 999,999,999,999; try tokenizer='bpe-4096'"):
        read_text(source, "bpe-999999999999")


def test_changed_while_tokenising(tmp_path, monkeypatch, cache):
    path = tmp_path / "text.txt"
    path.write_text(prose(1000), encoding="utf-8")
    measure = ours._measure

    def slow(source):
        found = measure(source)
        path.write_text(prose(1000, seed=1), encoding="utf-8")
        return found

    monkeypatch.setattr(ours, "_measure", slow)
    with pytest.raises(ValueError, match=r"text must not change while it is read, got text.txt which did"):
        read_text(path, "bytes")
    assert list((cache / "tokens").iterdir()) == []


PEAK = """
    import json, resource, sys
    from cutaway.data.batches import Windows
    from cutaway.data.text.corpus import read_text

    corpus = read_text(sys.argv[1], sys.argv[2])
    windows = Windows(corpus.train, context=256, batch=32)
    for _ in range(300):
        next(windows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(json.dumps({"peak": peak, "tokens": len(corpus.train)}))
"""


def peak_memory(folder, megabytes, kind):
    """MB at most, of a process that tokenises a file of so many MB and takes batches from it."""
    pytest.importorskip("resource")
    path = folder / f"{megabytes}.txt"
    if not path.exists():
        base = prose(1_000_000).encode()[:1_000_000].decode(errors="ignore").encode()
        with open(path, "wb") as file:
            for i in range(megabytes):
                at = base.index(b"\n", 7919 * i % 900_000) + 1  # each megabyte begins elsewhere
                file.write(base[at:] + base[:at])
    environment = {**os.environ, "CUTAWAY_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(PEAK), str(path), kind]
    told = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert told["tokens"] > (0.2 if kind.startswith("bpe") else 0.8) * 1e6 * megabytes
    return told["peak"]


@pytest.mark.parametrize("kind", ["characters", "bytes"])
def test_memory_does_not_grow_with_the_text(tmp_path, kind):
    small, large = (peak_memory(tmp_path, megabytes, kind) for megabytes in (10, 100))
    assert large - small < 25  # MB; the text grew by 90 and its tokens by 180


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe-1024"])
def test_memory_from_50_to_500_megabytes(tmp_path, kind):
    small, large = (peak_memory(tmp_path, megabytes, kind) for megabytes in (50, 500))
    assert large - small < 100


def test_windows_of_a_corpus():
    corpus = read_text(TextSource.from_text(prose(5000)))
    batch = Windows(corpus.train, 64, 8).at(0)
    text = corpus.tokenizer.decode(corpus.train[:])
    for row in batch.tokens:
        assert corpus.tokenizer.decode(row) in text
