r"""Words or letters as tokens: a text cut into words and signs, or into letters, each with an id of its own.

    "It isn't over!"  →  it · is · n't · over · !

Negations and endings after an apostrophe are words of their own, as in the Penn Treebank and in GloVe's vectors.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import tokenizers as hf
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from cutaway.data.text.tokenizers import UNKNOWN, Tokenizer

PAD = "<pad>"
_WORD = r"n't|'\w+|\w+?(?=n't)|\w+|[^\w\s]"
_LETTER = r"[\s\S]{1}"
_PATTERN = re.compile(_WORD)


def split_words(text: str) -> list[str]:
    """The words and signs of a text, in small letters.

    >>> split_words("It isn't over!")
    ['it', 'is', "n't", 'over', '!']
    """
    return _PATTERN.findall(text.lower())


def train_words(texts: Iterable[str], vocabulary: int, more: Sequence[str] = ()) -> Tokenizer:
    """A tokenizer of the most frequent words, up to ``vocabulary``, and of ``more`` words that need no text.

    Ids 0 and 1 are <pad> and <unk>, which stands for every other word.
    """
    if vocabulary < 1:
        raise ValueError(f"a vocabulary must hold at least one word, got {vocabulary}; try tokenizer='words'")
    counts = Counter(word for text in texts for word in split_words(text))
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:vocabulary]
    inner = _whole_tokens([*frequent, *more], _WORD)
    inner.normalizer = normalizers.Lowercase()
    return Tokenizer(inner, "words")


def train_letters(texts: Iterable[str]) -> Tokenizer:
    """A tokenizer of all letters and signs of the texts, large and small apart; ids 0 and 1 as in `train_words`."""
    inner = _whole_tokens(sorted({letter for text in texts for letter in text}), _LETTER)
    inner.decoder = decoders.Fuse()
    return Tokenizer(inner, "letters")


def _whole_tokens(tokens: Sequence[str], pattern: str) -> hf.Tokenizer:
    """The tokenizer that takes what a pattern matches for tokens."""
    every = dict.fromkeys((PAD, UNKNOWN, *tokens))
    inner = hf.Tokenizer(models.WordLevel({token: i for i, token in enumerate(every)}, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)
    inner.add_special_tokens([PAD, UNKNOWN])
    return inner


__all__ = ["PAD", "split_words", "train_letters", "train_words"]
