r"""Pairs of texts that belong together, for models that embed texts.

    anchor, positive[, negative]        a question and its answer, two sentences of one meaning [, one of another]
    text 1, text 2, score               how alike two texts are
    text                                without a partner: it is its own, seen twice through dropout (SimCSE)

Rows whose first texts read the same stay in one part, so that no question is tested on that was learned. Of texts
without a partner held-out ones are halved: the first half is to find the second. Gao, Yao and Chen 2021 (SimCSE), §3.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.checks import nearest
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.labelled.unlabelled_texts import has_lines, read_texts
from cutaway.data.splits import Splits, split_groups, text_key, told_repeats
from cutaway.data.stored import find_stored
from cutaway.data.tables.text_tables import read_columns

FIRSTS = ("anchor", "query", "question", "sentence1", "text1", "text_a", "source", "title", "premise")
SECONDS = ("positive", "passage", "answer", "sentence2", "text2", "text_b", "document", "summary", "hypothesis")
NEGATIVES = ("negative", "hard_negative")
SCORES = ("score", "similarity", "similarity_score", "relatedness")


@dataclass(frozen=True)
class PairRows:
    """Pairs of texts; with ``negatives`` a third text for each, with ``scores`` how alike the two are, from 0 to 1."""

    firsts: list[str]
    seconds: list[str]
    negatives: list[str] | None = None
    scores: Float[np.ndarray, "n"] | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def take(self, rows: Int[np.ndarray, "m"]) -> "PairRows":
        pick = lambda texts: [texts[i] for i in rows]
        scores = None if self.scores is None else self.scores[rows]
        return PairRows(
            pick(self.firsts), pick(self.seconds), None if self.negatives is None else pick(self.negatives), scores
        )


@dataclass(frozen=True)
class TextPairs:
    """Pairs in their three parts, and what they were read from."""

    splits: Splits[PairRows]
    columns: tuple[str, ...]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    unpaired: bool = False  # whether every text is its own partner

    @property
    def train(self) -> PairRows:
        return self.splits.train

    @property
    def validation(self) -> PairRows | None:
        return self.splits.validation

    def open_test(self) -> PairRows:
        return self.splits.open_test()

    def summary(self) -> str:
        """What was read, in a few lines."""
        validation = "none" if self.validation is None else f"{len(self.validation):,}"
        if self.unpaired:
            first = (
                f"texts without a partner: {len(self.train):,} to train on, each a pair with itself under two dropout "
                f"masks (SimCSE), {validation} to evaluate on, whose first halves are to find their second"
            )
        else:
            first = (
                f"pairs: {len(self.train):,} to train on, {validation} to evaluate on; "
                f"columns: {', '.join(self.columns)}"
            )
        return "\n".join([first, *self.notes])


def find_columns(names: Sequence[str], asked: Sequence[str] = ()) -> tuple[str, str, str, str]:
    """The columns of first and second texts, of negatives and of scores ("" for none): as asked, else by their names.

    A single column, or a single name asked for, is one of texts without a partner.

    >>> find_columns(["Score", "sentence1", "sentence2"])
    ('sentence1', 'sentence2', '', 'Score')
    >>> find_columns(["text"])
    ('text', '', '', '')
    """
    for name in asked:
        if name not in names:
            raise ValueError(
                f"columns must be those of the table, {', '.join(map(repr, names))}, got {name!r}; "
                f"try {nearest(name, names, 1)!r}"
            )
    by_name = {name.casefold().strip(): name for name in names}
    known = lambda wanted: next((by_name[name] for name in wanted if name in by_name), "")
    score, negative = known(SCORES), known(NEGATIVES)
    if len(asked or names) == 1:
        return (asked or names)[0], "", "", ""
    if asked:
        first, second = asked[:2]
        return first, second, asked[2] if len(asked) > 2 else "", score if score not in asked else ""
    first, second = known(FIRSTS), known(SECONDS)
    if not (first and second) and len(names) == 2:
        first, second = names
    if not (first and second):
        raise ValueError(
            f"pairs need two columns of texts, got {', '.join(map(repr, names))}; name them: columns='first,second'"
        )
    return first, second, negative, score


def read_text_pairs(
    data: Any,
    columns: Sequence[str] = (),
    validation: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    together: bool = True,
) -> TextPairs:
    """Pairs of texts of a table: CSV, TSV, JSON lines, Parquet, a DataFrame or a dict of columns; or lines of a file.

    A file whose name does not end as that of a table has one text a line, unless its lines have tabs. Runs made before
    first texts were compared without regard to white space have ``together`` False.
    """
    stored = find_stored(data)
    if stored is not None:
        data = stored.frame()
    table = _columns(data, encoding)
    names = find_columns(list(table), columns)
    rows, notes = _usable(table, *names)
    keys = [text_key(text) if together else text.casefold() for text in rows.firsts]
    parts, firsts = split_groups(keys, validation, test, seed)
    train, held, tested = (rows.take(part) for part in parts)
    notes += told_repeats(firsts, "first texts" if names[1] else "texts")
    unpaired = not names[1]
    _expect_different(train, rows, len(set(keys)) == 1, unpaired, notes)
    if unpaired:
        held, tested = halves(held.firsts), halves(tested.firsts)
    path = Path(data).expanduser() if isinstance(data, (str, os.PathLike)) else None
    if stored is not None:
        fingerprint = stored.fingerprint()
    else:
        fingerprint = Fingerprint("", 0) if path is None else fingerprint_files({path.name: path})
    splits = Splits("pairs", train, held if len(held) else None, (lambda: tested) if len(tested) else None)
    return TextPairs(splits, tuple(name for name in names if name), fingerprint, tuple(notes), unpaired)


def _expect_different(train: PairRows, rows: PairRows, same: bool, unpaired: bool, notes: Sequence[str]) -> None:
    """There must be two different pairs to train on: one is told from another."""
    what = "texts" if unpaired else "pairs"
    seconds = {text.casefold() for text in rows.seconds}
    if same and len(rows) > 1:
        raise ValueError(
            f"tuning by pairs needs different first texts, got {len(rows):,} {what} that all have the same "
            f"({rows.firsts[0][:40]!r}); add others, or choose other columns: --columns"
        )
    if rows.scores is None and len(seconds) == 1 and len(rows) > 1:
        raise ValueError(
            f"tuning by pairs needs different second texts, got {len(rows):,} {what} that all have the same "
            f"({rows.seconds[0][:40]!r}); add others, or choose other columns: --columns"
        )
    if len(train) < 2:
        left_out = f" ({notes[0]})" if notes and notes[0].startswith("left out") else ""
        raise ValueError(
            f"tuning by pairs needs at least two {what} to train on, got {len(train)} of {len(rows):,}{left_out}; add "
            f"{what}, or lower --validation and --test"
        )


def _columns(data: Any, encoding: str) -> dict[str, list[str]]:
    if has_lines(data):
        lines = list(read_texts(data, "", encoding, "data"))
        if not lines or not all("\t" in line for line in lines[:10]):
            return {"text": lines}
    return first_row_as_pair(read_columns(data, encoding), data)


def first_row_as_pair(table: dict[str, list[str]], data: Any) -> dict[str, list[str]]:
    """The table with its first row among the others, where two sentences were taken for the names of its columns.

    >>> first_row_as_pair({"Where is Tom?": ["Go."], "¿Dónde está Tom?": ["Vete."]}, "pairs.tsv")
    {'text1': ['Where is Tom?', 'Go.'], 'text2': ['¿Dónde está Tom?', 'Vete.']}
    """
    if not isinstance(data, (str, os.PathLike)) or not are_sentences(list(table)):
        return table
    return {f"text{i}": [name, *texts] for i, (name, texts) in enumerate(table.items(), 1)}


def are_sentences(names: Sequence[str]) -> bool:
    """Whether two fields of a first row are sentences, not names of columns.

    >>> are_sentences(["Where is Tom?", "¿Dónde está Tom?"]), are_sentences(["first text", "second text"])
    (True, False)
    """
    long = len(names) == 2 and all(len(name.split()) > 2 for name in names)
    return long and any(name.strip()[-1] in ".!?…。？！" for name in names)


def halves(texts: Sequence[str]) -> PairRows:
    """The first and the second half of each text, by its words, or of a text without spaces by its characters.

    >>> halves(["one two three four five", "word", "a"])
    PairRows(firsts=['one two', 'wo'], seconds=['three four five', 'rd'], negatives=None, scores=None)
    """
    firsts, seconds = [], []
    for text in texts:
        words = text.split()
        parts, space = (words, " ") if len(words) > 1 else (list(text.strip()), "")
        if len(parts) > 1:
            firsts.append(space.join(parts[: len(parts) // 2]))
            seconds.append(space.join(parts[len(parts) // 2 :]))
    return PairRows(firsts, seconds)


def _usable(
    table: dict[str, list[str]], first: str, second: str, negative: str, score: str
) -> tuple[PairRows, list[str]]:
    """Pairs that can be learned from, scores brought to 0–1, and notes on what was left out."""
    texts = [table[name] for name in (first, second, negative) if name]
    whole = np.array([all(text.strip() for text in row) for row in zip(*texts)], dtype=bool)
    what = "pairs with an empty text" if second else "empty texts"
    notes = [f"left out: {int((~whole).sum()):,} {what}"] if not whole.all() else []
    scores = None
    if score:
        try:
            scores = np.array([float(value) for value in table[score]])
        except ValueError:
            wrong = next(value for value in table[score] if not _is_number(value))
            raise ValueError(f"scores must be numbers, got {wrong!r} in the column {score!r}; mend it") from None
        low, high = min(float(scores.min()), 0.0), max(float(scores.max()), 1.0)
        if not np.isfinite(scores).all():
            raise ValueError(f"scores must be finite numbers, got others in the column {score!r}; mend it")
        if (low, high) != (0.0, 1.0):
            notes.append(f"scores: from {low:g} to {high:g}, brought to 0 to 1")
        scores = (scores - low) / (high - low)
    firsts = [text.strip() for text in table[first]]
    rows = PairRows(
        firsts,
        [text.strip() for text in table[second]] if second else firsts,
        [text.strip() for text in table[negative]] if negative else None,
        scores,
    )
    return rows.take(np.flatnonzero(whole)), notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


__all__ = ["PairRows", "TextPairs", "are_sentences", "find_columns", "first_row_as_pair", "halves", "read_text_pairs"]
