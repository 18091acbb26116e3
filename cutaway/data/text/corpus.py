r"""A corpus is text to train on: a file, a folder or a string → tokens on disk → train, validation and test.

The text is cut into three stretches before anything is learned from it: a BPE or a list of words is made from the first
only, and no token reaches across a border. (The set of characters is taken from all of the text, as an alphabet is
given.)
Tokens are written once, in pieces, to a cache that is keyed by the digest of the text, the tokenizer and the borders.
"""

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from cutaway.atomic_files import write_json, writing
from cutaway.data.batches import expect_context
from cutaway.data.cache import cached, recall_fingerprint, remember_fingerprint
from cutaway.data.files import TextSource
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_points
from cutaway.data.text.chunks import cut_safely
from cutaway.data.text.special_tokens import SPECIAL_TOKENS, bpe_special_tokens, find_special_tokens, frame
from cutaway.data.text.token_files import Tokens, token_type
from cutaway.data.text.tokenizers import Bytes, Characters, Tokenizer, code_points, load_tokenizer, train_bpe
from cutaway.data.text.word_tokenizer import train_words
from cutaway.overriding import override

PARTS = ("train", "validation", "test")
_FORMAT = 1  # of the cache: raise it when what is written changes
_BPE_TEXT = 10_000_000  # characters that a BPE learns from: three times as many shorten the tokens by half a percent
_VOCABULARIES = {"bpe": 4096, "words": 10_000}  # where nobody says how many


class Corpus:
    """Tokens of a text in three parts. ``train`` and ``validation`` are attributes; `open_test` opens the third."""

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        splits: Splits[Tokens],
        counts: dict[str, int],
        characters: int,
        fingerprint: Fingerprint,
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.splits = splits
        self.counts = counts
        self.characters = characters
        self.fingerprint = fingerprint

    @property
    def train(self) -> Tokens:
        return self.splits.train

    @property
    def validation(self) -> Tokens | None:
        return self.splits.validation

    def open_test(self) -> Tokens:
        """The test part: see `Splits.open_test`."""
        return self.splits.open_test()

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.vocabulary

    def expect_context(self, context: int) -> None:
        """Every part that there is must be longer than the context, so that nothing fails after hours of training."""
        for part, count in self.counts.items():
            if part == "train" or count:
                expect_context(count, context, f"the {part} part of {self.name}")

    def expect_tokens_below(self, vocabulary: int) -> None:
        """Every token must be one that a model of this vocabulary has; the test part stays closed."""
        for part in (self.train, self.validation) if self.vocabulary > vocabulary else ():
            highest = -1 if part is None or not len(part) else int(np.max(part[:]))
            if highest >= vocabulary:
                raise ValueError(
                    f"a model needs a vector for every token of {self.name}, got token {highest:,} and a vocabulary of "
                    f"{vocabulary:,}; bring the tokenizer.json that the model was trained with"
                )

    def summary(self) -> str:
        """What a person should know before training on it."""
        total = sum(self.counts.values())
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        return (
            f"{self.name}: {self.characters:,} characters, {total:,} tokens\n"
            f"tokenizer: {self.tokenizer.kind}, vocabulary {self.vocabulary:,}, "
            f"{self.characters / total:.2f} characters a token\n"
            f"parts: {parts}\n"
            f"digest: sha256 {self.fingerprint.digest}"
        )

    @override
    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {sum(self.counts.values()):,} tokens, {self.tokenizer})"


def read_text(
    text: str | os.PathLike[str] | TextSource,
    tokenizer: str | Tokenizer = "characters",
    validation: float = 0.05,
    test: float = 0.05,
    encoding: str = "utf-8",
    pattern: str = "*",
    special_tokens: bool = False,
) -> Corpus:
    """The corpus of a text: a sample's name, a file or folder (of files that match ``pattern``), or a `TextSource`.

    ``tokenizer`` is "characters", "bytes", "words" or "bpe" ("words-N" or "bpe-N" for a vocabulary of N), the path of a
    `tokenizer.json`, or a tokenizer. ``validation`` and ``test`` are shares of the text, taken from its end. With
    ``special_tokens`` the vocabulary has those of special_tokens.py too, for a model that fills gaps.
    """
    expect_shares(validation, test)
    chosen = _choose(tokenizer)
    if special_tokens and isinstance(chosen, Tokenizer):
        find_special_tokens(chosen)
    found = resolve(text, "text")
    source = found if isinstance(found, TextSource) else _source(found, encoding, pattern)
    key = {
        "format": _FORMAT,
        "digest": source.fingerprint.digest,
        "encoding": source.encoding,
        "tokenizer": chosen.key if isinstance(chosen, Tokenizer) else chosen,
        "validation": float(validation),
        "test": float(test),
    } | ({"special_tokens": SPECIAL_TOKENS} if special_tokens else {})
    folder = cached(
        "tokens", key, lambda part: _write(source, chosen, (validation, test), special_tokens, part), _sound
    )
    return _open(source, folder)


def _source(path: Path, encoding: str, pattern: str) -> TextSource:
    known = recall_fingerprint(path)
    source = TextSource.from_path(path, encoding, pattern, known)
    if source.fingerprint != known:
        remember_fingerprint(path, source.fingerprint)
    return source


def _choose(tokenizer: str | Tokenizer) -> str | Tokenizer:
    """A tokenizer, or the name of a kind to be made from the text: "characters", "bytes", "words-N" or "bpe-N"."""
    if isinstance(tokenizer, Tokenizer) or tokenizer in ("characters", "bytes"):
        return tokenizer
    if tokenizer in _VOCABULARIES:
        return f"{tokenizer}-{_VOCABULARIES[tokenizer]}"
    kind, _, size = tokenizer.partition("-")
    if kind in _VOCABULARIES and size.isdigit():
        return tokenizer
    if os.path.exists(tokenizer):
        return load_tokenizer(tokenizer)
    raise ValueError(
        f"tokenizer must be characters, bytes, words, words-N, bpe, bpe-N or the path of a tokenizer.json, got "
        f"{tokenizer!r}; try tokenizer='bpe-{_VOCABULARIES['bpe']}'"
    )


def _measure(source: TextSource) -> tuple[int, str]:
    """How many characters a text has, and which."""
    seen = np.zeros(0x110000, dtype=bool)
    count = 0
    for piece in source.pieces():
        seen[code_points(piece)] = True
        count += len(piece)
    if count == 0:
        raise ValueError(
            f"text must hold at least one character, got {source.name} which is empty; give a file with text"
        )
    return count, "".join(map(chr, np.flatnonzero(seen)))


def _by_part(pieces: Iterable[str], ends: tuple[int, int, int]) -> Iterator[tuple[str, str]]:
    """Each piece with the part that it belongs to; a piece on a border is cut in two."""
    place = 0
    for piece in pieces:
        while piece:
            part = next(i for i, end in enumerate(ends) if place < end)
            here, piece = piece[: ends[part] - place], piece[ends[part] - place :]
            place += len(here)
            yield PARTS[part], here


def _make(kind: str, characters: str, training: Iterator[str], length: int, special: bool) -> Tokenizer:
    if kind == "characters":
        return Characters(characters, special=SPECIAL_TOKENS if special else ())
    if kind == "bytes":
        return Bytes(SPECIAL_TOKENS if special else ())
    kind, _, size = kind.partition("-")
    if kind == "words":
        return train_words(training, int(size), SPECIAL_TOKENS if special else ())
    # every k-th piece, so that the time it takes does not grow with the text
    stride = max(-(-length // _BPE_TEXT), 1)
    pieces = itertools.islice(cut_safely(training), 0, None, stride)
    return train_bpe(pieces, int(size), bpe_special_tokens() if special else ())


def _write(
    source: TextSource, chosen: str | Tokenizer, shares: tuple[float, float], special: bool, folder: Path
) -> None:
    characters, alphabet = _measure(source)
    ends = (*split_points(characters, *shares), characters)

    def parts() -> Iterator[tuple[str, str]]:
        return _by_part(source.pieces(), ends)

    if isinstance(chosen, Tokenizer):
        tokenizer = chosen
    else:
        training = itertools.takewhile(lambda item: item[0] == "train", parts())
        made = _make(chosen, alphabet, (text for _, text in training), ends[0], special)
        tokenizer = frame(made) if special else made
    tokenizer.save(folder / "tokenizer.json")
    dtype = token_type(tokenizer.vocabulary)
    counts = dict.fromkeys(PARTS, 0)
    for part, items in itertools.groupby(parts(), key=lambda item: item[0]):
        with writing(folder / f"{part}.bin") as file:
            for ids in tokenizer.encode_pieces(text for _, text in items):
                file.write(ids.astype(dtype).tobytes())
                counts[part] += len(ids)
    source.expect_unchanged()
    write_json(
        folder / "tokens.json",
        {"counts": counts, "characters": characters, "dtype": dtype.name, "vocabulary": tokenizer.vocabulary},
    )


def _sound(folder: Path) -> bool:
    """Whether the files of an entry of the cache have the lengths that its tokens.json states."""
    try:
        entry = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
        size = np.dtype(entry["dtype"]).itemsize
        return (folder / "tokenizer.json").is_file() and all(
            (folder / f"{part}.bin").stat().st_size == count * size for part, count in entry["counts"].items() if count
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _open(source: TextSource, folder: Path) -> Corpus:
    entry = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
    counts = entry["counts"]

    def part(name: str) -> Tokens:
        return Tokens.from_file(folder / f"{name}.bin", np.dtype(entry["dtype"]))

    splits = Splits(
        source.name,
        part("train") if counts["train"] else Tokens(np.empty(0, entry["dtype"])),
        part("validation") if counts["validation"] else None,
        (lambda: part("test")) if counts["test"] else None,
    )
    return Corpus(source.name, load_tokenizer(folder), splits, counts, entry["characters"], source.fingerprint)


__all__ = ["PARTS", "Corpus", "read_text"]
