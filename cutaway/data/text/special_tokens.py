r"""Special tokens, which never come from the characters of a text: its start and end, padding, and the masked token.

    [CLS] The [MASK] sat [SEP]

A model that fills gaps is asked for what stood at the mask. In word pieces a token holds the space before its word, so
the mask takes in the space before it, as RoBERTa's does (Liu et al. 2019); a masked character or byte is that alone.
Names: Devlin et al. 2019. In a tokenizer from elsewhere, RoBERTa's names for them are known too.
"""

from typing import NamedTuple

import tokenizers as hf
from tokenizers import processors

from cutaway.data.text.tokenizers import Bytes, Characters, Tokenizer

SPECIAL_TOKENS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_NAMES = (SPECIAL_TOKENS[1:], ("<s>", "</s>", "<mask>"))  # BERT's and RoBERTa's start, end and mask


class SpecialTokens(NamedTuple):
    """The ids of a vocabulary's special tokens, and the name by which a text writes the mask."""

    start: int
    end: int
    mask: int
    name: str


def bpe_special_tokens() -> list[hf.AddedToken]:
    """The special tokens that a BPE is trained with."""
    return [hf.AddedToken(name, special=True, lstrip=name == "[MASK]", normalized=False) for name in SPECIAL_TOKENS]


def frame(tokenizer: Tokenizer) -> Tokenizer:
    """Sets the tokenizer to put [CLS] and [SEP] around a whole text, also in other libraries that read its file."""
    tokenizer.settings |= dict(zip(("pad_token", "cls_token", "sep_token", "mask_token"), SPECIAL_TOKENS, strict=True))
    tokenizer.inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.id_of(name)) for name in ("[CLS]", "[SEP]")]
    )
    return tokenizer


def has_special_tokens(tokenizer: Tokenizer) -> bool:
    """Whether a vocabulary was made with our special tokens."""
    return all(tokenizer.inner.token_to_id(name) is not None for name in SPECIAL_TOKENS)


def find_special_tokens(tokenizer: Tokenizer) -> SpecialTokens:
    """The special tokens of a tokenizer, which must have them."""
    for names in _NAMES:
        start, end, mask = (tokenizer.inner.token_to_id(name) for name in names)
        if start is not None and end is not None and mask is not None:
            return SpecialTokens(start, end, mask, names[-1])
    raise ValueError(
        f"a tokenizer to fill gaps with must have the tokens {', '.join(_NAMES[0])}, got one without; "
        "use tokenizer='bpe', 'characters' or 'bytes', which are made with them"
    )


def encode_gaps(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text between [CLS] and [SEP], each [MASK] in it one id."""
    special = find_special_tokens(tokenizer)
    *parts, last = text.split(special.name)
    ids: list[int] = [special.start]
    for part in parts:
        ids += [*map(int, tokenizer.encode(before_mask(tokenizer, part))), special.mask]
    return [*ids, *map(int, tokenizer.encode(last)), special.end]


def before_mask(tokenizer: Tokenizer, text: str) -> str:
    """The text before a mask, without the spaces that a masked piece of a word holds itself."""
    return text if isinstance(tokenizer, (Characters, Bytes)) else text.rstrip()


__all__ = [
    "SPECIAL_TOKENS",
    "SpecialTokens",
    "bpe_special_tokens",
    "encode_gaps",
    "find_special_tokens",
    "frame",
    "has_special_tokens",
]
