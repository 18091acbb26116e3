r"""Pairs of texts, a source and its target on each line with a tab between: translations, questions and answers.

Pairs that share a source or a target, directly or through others, stay together in one part: else a sentence of the
test would have been seen in training with another translation.
"""

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from cutaway.atomic_files import write_json
from cutaway.data.cache import cached
from cutaway.data.files import TextSource
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.samples.embedded import resolve
from cutaway.data.seeded_draws import draw_uniform
from cutaway.data.splits import Splits, expect_shares
from cutaway.data.text.token_rows import END, PAD, START, TokenPairs, TokenRows
from cutaway.data.text.tokenizers import Tokenizer, load_tokenizer, train_bpe

SPECIAL = ("<pad>", "<start>", "<end>")
_FORMAT = 1


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts as tokens, in three parts. `open_test` opens the third."""

    name: str
    tokenizer: Tokenizer
    splits: Splits[TokenPairs]
    counts: dict[str, int]
    fingerprint: Fingerprint

    @property
    def train(self) -> TokenPairs:
        return self.splits.train

    @property
    def validation(self) -> TokenPairs | None:
        return self.splits.validation

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.vocabulary

    def open_test(self) -> TokenPairs:
        """The test pairs: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        lengths = (
            f"{np.mean(rows.lengths):.1f} (at most {rows.lengths.max()})"
            for rows in (self.train.source, self.train.target)
        )
        return (
            f"{self.name}: pairs for {parts}\n"
            f"tokenizer: {self.tokenizer.kind}, vocabulary {self.vocabulary:,}\n"
            f"tokens: source {next(lengths)}, target {next(lengths)}\n"
            f"digest: sha256 {self.fingerprint.digest}"
        )


def normalise(text: str) -> str:
    """One form for texts that read the same: composed characters, single spaces, none at the ends.

    >>> normalise(" Cafe\u0301  ouvert ")
    'Café ouvert'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


def parse_pairs(source: TextSource) -> list[tuple[str, str]]:
    """The pairs of a text, each once; a third column, as in some collections, says where a pair is from."""
    found: dict[tuple[str, str], None] = {}
    for number, line in enumerate(_lines(source), start=1):
        if not line.strip():
            continue
        fields = [normalise(field) for field in line.split("\t")]
        if len(fields) < 2 or not fields[0] or not fields[1]:
            raise ValueError(
                f"every line must hold a source and a target with a tab between, got {line[:60]!r} in line {number:,} "
                f"of {source.name}; mend that line"
            )
        found[fields[0], fields[1]] = None
    if not found:
        raise ValueError(f"pairs must hold at least one line, got {source.name} which is empty; give a file with lines")
    return list(found)


def _lines(source: TextSource) -> Iterator[str]:
    rest = ""
    for piece in source.pieces():
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    yield rest


def group_pairs(pairs: Sequence[tuple[str, str]]) -> Int[np.ndarray, "n"]:
    """A number for each pair, the same for pairs that share a text, directly or through others; case is ignored."""
    parent = list(range(len(pairs)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[tuple[int, str], int] = {}
    for i, pair in enumerate(pairs):
        for side, text in enumerate(pair):
            # the smaller number is the root, so that the numbers do not depend on the order of the joins
            a, b = root(first.setdefault((side, text.casefold()), i)), root(i)
            parent[max(a, b)] = min(a, b)
    return np.array([root(i) for i in range(len(pairs))], dtype=np.int64)


def split_pairs(
    pairs: Sequence[tuple[str, str]], validation: float, test: float, seed: int = 0
) -> Int[np.ndarray, "n"]:
    """For each pair its part: 0 train, 1 validation, 2 test. Groups of pairs are drawn whole."""
    expect_shares(validation, test)
    groups = group_pairs(pairs)
    u = draw_uniform(seed, "pairs", 0, len(pairs))[groups]  # one draw for a group: that of its first pair
    return np.digitize(u, [1 - validation - test, 1 - test])


def read_pairs(
    pairs: str | os.PathLike[str] | TextSource,
    tokenizer: str | Tokenizer = "bpe-8000",
    validation: float = 0.02,
    test: float = 0.02,
    seed: int = 0,
    encoding: str = "utf-8",
) -> Pairs:
    """Pairs of a file with one on each line, source and target separated by a tab; the file may be packed.

    ``tokenizer`` is "bpe-N", learned from both sides of the training pairs, or a tokenizer (or its path) whose first
    three tokens are <pad>, <start> and <end>.
    """
    expect_shares(validation, test)
    found = resolve(pairs, "pairs")
    source = found if isinstance(found, TextSource) else TextSource.from_path(found, encoding)
    chosen = _choose(tokenizer)
    key = {
        "format": _FORMAT,
        "digest": source.fingerprint.digest,
        "encoding": source.encoding,
        "tokenizer": chosen.key if isinstance(chosen, Tokenizer) else chosen,
        "validation": float(validation),
        "test": float(test),
        "seed": seed,
    }
    folder = cached("pairs", key, lambda part: _write(source, chosen, (validation, test, seed), part), _sound)
    return _open(source, folder)


def _choose(tokenizer: str | Tokenizer) -> str | Tokenizer:
    if isinstance(tokenizer, str):
        if tokenizer.startswith("bpe-") and tokenizer[4:].isdigit():
            return tokenizer
        if not os.path.exists(tokenizer):
            raise ValueError(
                f"tokenizer must be bpe-N or the path of a tokenizer.json, got {tokenizer!r}; try tokenizer='bpe-8000'"
            )
        tokenizer = load_tokenizer(tokenizer)
    ids = [tokenizer.inner.token_to_id(token) for token in SPECIAL]
    if ids != [PAD, START, END]:
        raise ValueError(
            f"a tokenizer of pairs must begin with {', '.join(SPECIAL)}, got ids {ids} for them; "
            "train it with train_bpe(..., special=pairs.SPECIAL)"
        )
    return tokenizer


def _write(source: TextSource, chosen: str | Tokenizer, shares: tuple[float, float, int], folder: Path) -> None:
    pairs = parse_pairs(source)
    parts = split_pairs(pairs, *shares)
    if not (parts == 0).any():
        raise ValueError(f"pairs must leave some for training, got {len(pairs)} pairs in {source.name}; use more pairs")
    if isinstance(chosen, Tokenizer):
        tokenizer = chosen
    else:
        training = (text for pair, part in zip(pairs, parts) if part == 0 for text in pair)
        tokenizer = train_bpe(training, int(chosen.removeprefix("bpe-")), SPECIAL)
    tokenizer.save(folder / "tokenizer.json")
    counts = {}
    for number, part in enumerate(("train", "validation", "test")):
        chosen_pairs = [pair for pair, p in zip(pairs, parts) if p == number]
        sources = tokenizer.encode_each([a for a, _ in chosen_pairs])
        targets = [np.array([START, *ids, END]) for ids in tokenizer.encode_each([b for _, b in chosen_pairs])]
        for side, rows in (("source", sources), ("target", targets)):
            packed = TokenRows.from_rows(rows)
            np.save(folder / f"{part}-{side}.npy", packed.ids)
            np.save(folder / f"{part}-{side}-starts.npy", packed.starts)
        counts[part] = len(chosen_pairs)
    source.expect_unchanged()
    write_json(folder / "pairs.json", {"counts": counts})


def _sound(folder: Path) -> bool:
    return (folder / "pairs.json").is_file() and (folder / "tokenizer.json").is_file()


def _open(source: TextSource, folder: Path) -> Pairs:
    counts = json.loads((folder / "pairs.json").read_text(encoding="utf-8"))["counts"]

    def part(name: str) -> TokenPairs:
        def rows(side: str) -> TokenRows:
            ids, starts = (np.load(folder / f"{name}-{side}{end}.npy", mmap_mode="r") for end in ("", "-starts"))
            return TokenRows(np.asarray(ids), np.asarray(starts))

        return TokenPairs(rows("source"), rows("target"))

    splits = Splits(
        source.name,
        part("train"),
        part("validation") if counts["validation"] else None,
        (lambda: part("test")) if counts["test"] else None,
    )
    return Pairs(source.name, load_tokenizer(folder), splits, counts, source.fingerprint)


__all__ = ["SPECIAL", "Pairs", "group_pairs", "normalise", "parse_pairs", "read_pairs", "split_pairs"]
