r"""The task of classifying texts: labelled texts in three parts, the classes of new ones, and how well they fit.

    P(label)      a row for each text, by a learner
    metrics       mean −log P of the true label, accuracy, the mean of the classes' F1
    baseline      a linear model of words, and the most frequent class (`bag_of_words.py`)

`cutaway train classifier` learns it by readers of words and n-grams (`text_readers.py`), `cutaway tune BASE --task
classify` by a trained model of text.
"""

import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from cutaway.atomic_files import read_json, write_json
from cutaway.data.checks import nearest
from cutaway.data.labelled.labelled_columns import find_text
from cutaway.data.labelled.labelled_texts import LabelledTexts, TextRows, count_shared, read_labelled
from cutaway.data.stored import shown
from cutaway.data.tables.endings import is_text_table
from cutaway.data.tables.text_tables import read_columns
from cutaway.overriding import override
from cutaway.tasks.classes import class_metrics, label_rows
from cutaway.tasks.task import Files, Task
from cutaway.tasks.texts.bag_of_words import text_baseline
from cutaway.tasks.texts.text_inputs import as_texts, expect_text, first_line, is_file, read_lines
from cutaway.waiting import doing

LABELS = "labels.json"  # in the run folder
_LOOKED_THROUGH = 500  # texts, for one that a model is unsure of


class TextClasses(Task):
    """Texts with a label each, from a file, a folder or a table in memory."""

    kind: ClassVar[str] = "texts/classify"
    figure = "accuracy"
    more_is_better = True
    parts: LabelledTexts

    @override
    def read_parts(self) -> LabelledTexts:
        settings = self.settings
        with doing(f"reading {shown(settings.data)}"):
            return read_labelled(
                settings.data,
                text=settings.text or None,
                target=settings.target or None,
                validation=settings.validation,
                test=settings.test_file or settings.test,
                seed=settings.seed,
                encoding=settings.encoding,
                header=settings.header,
            )

    @override
    def count(self) -> int:
        return len(self.parts.train.texts)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The labels, and what the file called the columns of texts and of labels."""
        if self.run is not None:
            return read_json(self.file_of_run(LABELS, "of a classifier"), "labels", "text", "target")
        text, target = self.parts.columns
        return {"labels": list(self.parts.labels), "text": list(text), "target": target}

    @property
    def labels(self) -> Sequence[str]:
        return self.columns["labels"]

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        if self.parts.validation is not None:
            facts["baseline"] = self.baseline(self.parts.validation)
        return facts

    @override
    def files(self) -> Files:
        return {LABELS: lambda path: write_json(path, {"version": 1} | self.columns)}

    def baseline(self, rows: TextRows) -> dict[str, Any]:
        """A rule in words, and its metrics on some texts."""
        return text_baseline(self.parts.train, rows, self.parts.labels)

    def metrics(self, p: Float[np.ndarray, "n c"], rows: TextRows) -> dict[str, float]:
        """Loss, accuracy and macro F1 of P(label)."""
        return class_metrics(p, rows.labels)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the baseline."""
        rows = self.parts.open_test()
        shared = count_shared(self.parts.train, rows)
        if shared:
            warnings.warn(
                f"{shared:,} of {len(rows.texts):,} test texts are also in training: they test memory", stacklevel=2
            )
        naive = self.baseline(rows)["metrics"]
        return self.metrics(learner.outputs(rows), rows) | {f"baseline_{name}": x for name, x in naive.items()}

    # What a person gives, and what they get.

    def read_inputs(self, source: str) -> Any:
        """A path, or a text itself: what a file holds is read when the columns of training are known."""
        if is_file(source):
            return Path(source)
        expect_text(source)
        return source

    def inputs(self, source: Any) -> TextRows:
        """The texts of what was given; of a table, those in the columns of training, or in the one of texts."""
        texts = texts_of(source, self.columns["text"], self.settings.encoding)
        return TextRows(texts, np.zeros(len(texts), np.int64))

    def answers(self, p: Float[np.ndarray, "n c"], rows: TextRows) -> list[dict[str, Any]]:
        """The label of each text and P(label) for every label."""
        return label_rows([{"text": text} for text in rows.texts], self.columns["target"], self.labels, p)

    def text_to_show(self, given: str | None, learner: Any) -> tuple[str, str]:
        """A text for a look and what it is: one that was given, else one not trained on that the model is unsure of."""
        if given is not None:
            return first_line(given, self.settings.encoding), "your text"
        rows, words = self.parts.train, "a text that it was trained on"
        if self.parts.validation is not None:
            rows, words = self.parts.validation, "a text that it was not trained on"
        texts = [text for text in rows.texts if 5 <= len(text.split()) <= 40] or rows.texts
        texts = texts[:_LOOKED_THROUGH]
        p = np.sort(learner.outputs(TextRows(texts, np.zeros(len(texts), np.int64))), axis=1)
        return texts[int((p[:, -1] - p[:, -2]).argmin())], words


def texts_of(inputs: Any, columns: Sequence[str], encoding: str = "utf-8") -> list[str]:
    """Texts to classify: one, several, the lines of a file, or the text columns of a table."""
    if isinstance(inputs, os.PathLike):
        path = Path(inputs)
        if not is_text_table(path):
            return read_lines(os.fspath(path), encoding)
        return _of_table(read_columns(path, encoding), columns, path.name)
    if hasattr(inputs, "columns") or isinstance(inputs, dict):
        return _of_table(read_columns(inputs, encoding), columns, "a table in memory")
    return as_texts(inputs)


def _of_table(table: dict[str, list[str]], columns: Sequence[str], name: str) -> list[str]:
    if all(column in table for column in columns):
        chosen = tuple(columns)
    elif len(columns) == 1:
        chosen = (find_text(table),)
    else:
        missing = next(column for column in columns if column not in table)
        raise ValueError(
            f"texts must have the columns of training, got {name} without {missing!r}; the nearest of its "
            f"{len(table)} columns are: {nearest(missing, table)}"
        )
    return ["\n".join(filter(None, parts)) for parts in zip(*(table[one] for one in chosen), strict=True)]
