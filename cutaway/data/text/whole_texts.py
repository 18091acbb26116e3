r"""Whole texts as a model was trained to see them: between its special tokens, cut to its context.

[CLS] tokens of the text, as many as there is room for [SEP]
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.data.text.special_tokens import frame, has_special_tokens
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.tokenizers import Tokenizer


class WholeTexts(NamedTuple):
    """The tokens of many texts, and how many of the texts were longer than the context."""

    tokens: TokenRows
    cut: int


class TextFrame(NamedTuple):
    """The special tokens that stand before and after the tokens of a text."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.before) + len(self.after)

    def around(self, ids: Sequence[int] | Int[np.ndarray, "_"]) -> Int[np.ndarray, "_"]:
        """The tokens of a whole text."""
        return np.array([*self.before, *(int(i) for i in ids), *self.after], np.int64)


def text_frame(tokenizer: Tokenizer) -> TextFrame:
    """The special tokens that a tokenizer puts around a whole text; none, if it puts none."""
    inner = tokenizer.inner
    if inner.post_processor is None:
        if not has_special_tokens(tokenizer):
            return TextFrame((), ())
        inner = frame(tokenizer).inner  # our own runs keep the tokenizer alone; the roles of our marks are known
    special = inner.encode("a", add_special_tokens=True).special_tokens_mask
    ids = inner.encode("a", add_special_tokens=True).ids
    inside = [i for i, mark in enumerate(special) if not mark] or [len(ids)]
    return TextFrame(tuple(ids[: inside[0]]), tuple(ids[inside[-1] + 1 :]))


def encode_whole_texts(tokenizer: Tokenizer, texts: Sequence[str], context: int) -> WholeTexts:
    """The tokens of whole texts; those that are longer than ``context`` are cut at the end, inside the frame."""
    around = text_frame(tokenizer)
    room = max(1, context - around.size)
    rows, cut = [], 0
    for ids in tokenizer.encode_each(list(texts)):
        cut += len(ids) > room
        rows.append(around.around(ids[:room]))
    return WholeTexts(TokenRows.from_rows(rows), cut)


__all__ = ["TextFrame", "WholeTexts", "encode_whole_texts", "text_frame"]
