r"""A tuned model beside its base: inputs that neither was tuned on, and what each answers.

A base whose head has the same labels answers itself. One that has no head for the task is read in the simplest way: of
a text or image the class whose training examples have the nearest mean vector, of a pair the nearest second text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import nn

from cutaway.blocks.losses.contrastive import prototypes
from cutaway.models.transformers.sentence_vectors import embed_rows, encode_texts, padded

if TYPE_CHECKING:
    from cutaway.data.images.image_data import ImageData
    from cutaway.data.labelled.labelled_texts import LabelledTexts
    from cutaway.data.labelled.text_pairs import PairRows

_TEXTS = 64  # whose representations are compared
_ANSWERED = 400  # whose answers are compared
_LEARNED = 600  # training texts that a class's mean is taken of
OWN_ANSWERS = "The answers before are those of the base, whose head has the same labels."


class Answers(NamedTuple):
    """Examples (texts, or images as pixels), what was answered before and after, and which was right.

    ``rule`` is a sentence on where the answers before come from; ``what`` the examples are, where they are
    told in words.
    """

    examples: Any
    before: list[str]
    after: list[str]
    right_before: np.ndarray
    right_after: np.ndarray
    rule: str
    what: str = "Texts"


def text_inputs(model: Any, texts: Sequence[str]) -> list[tuple[Any, ...]]:
    """Some texts as arguments of a model: tokens and, if some are padding, the mask by its name."""
    rows, _ = encode_texts(model, texts[:_TEXTS])
    rows = [row for row in rows if len(row)]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    found: list[tuple[Any, ...]] = []
    for first in range(0, len(order), 16):
        tokens, mask = padded([rows[i] for i in order[first : first + 16]])
        found.append((tokens,) if mask is None else (tokens, {"mask": mask}))
    return found


def nearest_mean(what: str) -> str:
    """The sentence on a base that has no head for the task.

    >>> nearest_mean("texts")
    'The base has no head for these labels: its answer is the label whose training texts have the nearest mean vector.'
    """
    return (
        f"The base has no head for these labels: its answer is the label whose training {what} have the nearest mean "
        "vector."
    )


def same_labels(base: Any, labels: Sequence[str]) -> bool:
    """Whether a base has a head for these labels, in any order."""
    head: Any = getattr(getattr(base, "spec", None), "head", None)
    return head is not None and head.kind == "classes" and set(head.labels) == set(labels)


def class_answers(base: Any, data: "LabelledTexts", after: np.ndarray, own: np.ndarray | None = None) -> Answers:
    """The labels that the tuned model gives to held-out texts, and those of the base.

    ``own`` are the numbers of the labels that a base with such a head gives; without it, class means in its vectors.
    """
    assert data.validation is not None
    texts = data.validation.texts[:_ANSWERED]
    truth = data.validation.labels[:_ANSWERED]
    names = lambda rows: [data.labels[int(i)] for i in rows]
    if own is not None:
        return Answers(texts, names(own), names(after), own == truth, after == truth, OWN_ANSWERS)
    place = np.linspace(0, len(data.train.texts) - 1, min(_LEARNED, len(data.train.texts))).astype(int)
    learned = embed_rows(base, encode_texts(base, [data.train.texts[i] for i in place])[0]).float().cpu()
    centres = prototypes(learned, torch.from_numpy(data.train.labels[place]), len(data.labels))
    vectors = embed_rows(base, encode_texts(base, texts)[0]).float().cpu()
    near = nn.functional.normalize(vectors, dim=1) @ nn.functional.normalize(centres, dim=1).T
    before = near.argmax(1).numpy()
    return Answers(texts, names(before), names(after), before == truth, after == truth, nearest_mean("texts"))


def image_answers(base: Any, tuned: Any, data: "ImageData", same_head: bool = False) -> Answers:
    """The classes that the tuned model gives to held-out images, and those of the base.

    With ``same_head``, the base has a head for these classes in this order; else its answers are by class means in its
    vectors.
    """
    from cutaway.tasks.images.pixels import image_outputs, image_vectors

    assert data.validation is not None
    rows = data.validation.take(slice(0, _ANSWERED))
    if same_head:
        scores = image_outputs(base, rows)
    else:
        some = data.train.take(np.linspace(0, len(data.train) - 1, min(_LEARNED, len(data.train))).astype(np.int64))
        centres = prototypes(image_vectors(base, some), torch.from_numpy(some.targets), len(data.labels))
        scores = nn.functional.normalize(image_vectors(base, rows), dim=1) @ nn.functional.normalize(centres, dim=1).T
    before, after = scores.argmax(1).numpy(), image_outputs(tuned, rows).argmax(1).numpy()
    names = lambda found: [data.labels[int(i)] for i in found]
    rule = OWN_ANSWERS if same_head else nearest_mean("images")
    right = before == rows.targets, after == rows.targets
    return Answers(rows.pixels(), names(before), names(after), *right, rule)


def pair_answers(base: Any, tuned: Any, pairs: "PairRows") -> Answers:
    """For each first text of held-out pairs, the second text that either model finds nearest."""
    firsts = pairs.firsts[:_ANSWERED]
    seconds = list(dict.fromkeys(pairs.seconds[:_ANSWERED]))
    own = np.array([seconds.index(text) for text in pairs.seconds[:_ANSWERED]])
    found = []
    for model in (base, tuned):
        a, b = (embed_rows(model, encode_texts(model, texts)[0]).float().cpu() for texts in (firsts, seconds))
        found.append((nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b, dim=1).T).argmax(1).numpy())
    names = [[f"“{shortened(seconds[int(i)])}”" for i in rows] for rows in found]
    right = [rows == own for rows in found]
    rule = "An answer is the second text whose vector is nearest."
    return Answers(firsts, names[0], names[1], right[0], right[1], rule)


def shortened(text: str, most: int = 30) -> str:
    """The beginning of a text, up to the end of a word if it has one.

    >>> shortened("a very long sentence", 12), shortened("a short one", 12)
    ('a very long…', 'a short one')
    """
    if len(text) <= most:
        return text
    words = text[: most + 1].rsplit(None, 1)[0]
    return words[:most].rstrip() + "…"


__all__ = [
    "Answers",
    "class_answers",
    "image_answers",
    "nearest_mean",
    "pair_answers",
    "same_labels",
    "shortened",
    "text_inputs",
]
