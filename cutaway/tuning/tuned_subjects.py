r"""A text for a look at a tuned model: yours, or one of those that it was not trained on."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.data.text.whole_texts import encode_whole_texts
from cutaway.tasks.subjects import Subject, text_subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_TEXTS = 200  # looked through for one that the model is unsure of


def whole_text_subject(run: "Run", text: str, words: str) -> Subject:
    """A text between the special tokens of its model."""
    model: Any = run.model
    return text_subject(run, encode_whole_texts(run.tokenizer, [text], model.spec.context).tokens[0], words)


def least_sure_text(recipe: Any, run: "Run", rows: TextRows) -> str:
    """Of some texts of a readable length, the one whose two likeliest labels are nearest to each other."""
    some = [text for text in rows.texts if 5 <= len(text.split()) <= 40][:_TEXTS] or rows.texts[:_TEXTS]
    p = np.sort(recipe.probabilities(run, TextRows(some, np.zeros(len(some), np.int64))), axis=1)
    return some[int((p[:, -1] - p[:, -2]).argmin())]


__all__ = ["least_sure_text", "whole_text_subject"]
