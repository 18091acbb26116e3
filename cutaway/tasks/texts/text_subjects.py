r"""A text for a look at a classifier: yours, or one of those that it was not trained on."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.texts.classify import class_probabilities, encoder_of, token_texts

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_TEXTS = 500  # looked through for one that the model is unsure of


def classified_subject(run: "Run", text: str, words: str) -> Subject:
    """A text as the model takes it: its tokens, at most as many as a page can show, and its n-grams."""
    recipe: Any = run.recipe
    most = min(SHOWN, recipe.context)
    ids = run.tokenizer.encode(text)[:most]
    if not len(ids):
        raise ValueError("a text to look at must have a token, got none; give it some words")
    tokens = token_texts(run.tokenizer, text, ids)
    shown = "".join(tokens)
    if len(shown) < len(text.rstrip()):
        words = f"the first {len(ids)} tokens of {words}"
    encoded = encoder_of(run, most).encode_texts([shown])
    batch = encoded.batch(np.array([0]))
    device = next(run.model.parameters()).device
    arguments = tuple(torch.from_numpy(part).to(device) for part in (batch.tokens, batch.features))
    return Subject(arguments, words, tokens)


def least_sure(run: "Run", rows: TextRows) -> str:
    """Of some texts of a readable length, the one whose two likeliest classes are nearest to each other."""
    recipe: Any = run.recipe
    some = [text for text in rows.texts if 5 <= len(text.split()) <= 40][:_TEXTS] or rows.texts[:_TEXTS]
    p = np.sort(class_probabilities(run.model, encoder_of(run, recipe.context).encode_texts(some)), axis=1)
    return some[int((p[:, -1] - p[:, -2]).argmin())]


__all__ = ["classified_subject", "least_sure"]
