r"""Marks around and inside a text that no text is made of: its start and end, padding, and the hidden token.

    [CLS] The [MASK] sat [SEP]

A model that fills gaps is asked for what stood at the mask. In word pieces a token holds the space before its word, so
the mask takes in the space before it, as RoBERTa's does (Liu et al. 2019); a masked character or byte is that alone.
Names: Devlin et al. 2019. Of a tokenizer from elsewhere, RoBERTa's names for the marks are known too.
"""

from typing import NamedTuple

import tokenizers as hf
from tokenizers import processors

from cutaway.data.text.tokenizers import Bytes, Characters, Tokenizer

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_NAMES = (MARKS[1:], ("<s>", "</s>", "<mask>"))  # BERT's and RoBERTa's start, end and mask


class Marks(NamedTuple):
    """The ids of a vocabulary's marks, and how a text writes the mask."""

    start: int
    end: int
    mask: int
    name: str


def marked_bpe() -> list[hf.AddedToken]:
    """The marks of word pieces, to train a BPE with."""
    return [hf.AddedToken(name, special=True, lstrip=name == "[MASK]", normalized=False) for name in MARKS]


def frame(tokenizer: Tokenizer) -> Tokenizer:
    """Has libraries that read the tokenizer's file put [CLS] and [SEP] around a whole text, as ours does."""
    tokenizer.settings |= dict(zip(("pad_token", "cls_token", "sep_token", "mask_token"), MARKS, strict=True))
    tokenizer.inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.id_of(name)) for name in ("[CLS]", "[SEP]")]
    )
    return tokenizer


def has_marks(tokenizer: Tokenizer) -> bool:
    """Whether a vocabulary was made with our marks."""
    return all(tokenizer.inner.token_to_id(name) is not None for name in MARKS)


def find_marks(tokenizer: Tokenizer) -> Marks:
    """The marks of a tokenizer, which must have them."""
    for names in _NAMES:
        start, end, mask = (tokenizer.inner.token_to_id(name) for name in names)
        if start is not None and end is not None and mask is not None:
            return Marks(start, end, mask, names[-1])
    raise ValueError(
        f"a tokenizer to fill gaps with must have the tokens {', '.join(_NAMES[0])}, got one without; "
        "use tokenizer='bpe', 'characters' or 'bytes', which are made with them"
    )


def encode_gaps(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text between its marks, each [MASK] in it one id."""
    marks = find_marks(tokenizer)
    *parts, last = text.split(marks.name)
    ids: list[int] = [marks.start]
    for part in parts:
        ids += [*map(int, tokenizer.encode(before_mask(tokenizer, part))), marks.mask]
    return [*ids, *map(int, tokenizer.encode(last)), marks.end]


def before_mask(tokenizer: Tokenizer, text: str) -> str:
    """The text before a mask, without the spaces that a masked piece of a word holds itself."""
    return text if isinstance(tokenizer, (Characters, Bytes)) else text.rstrip()


__all__ = ["MARKS", "Marks", "encode_gaps", "find_marks", "frame", "has_marks", "marked_bpe"]
