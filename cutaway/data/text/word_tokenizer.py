r"""A tokenizer of whole words: the commonest of a text, each with the space before it, and one token for all others.

    " the"  " cat"  ","  "\n"          a word takes the space before it along, so that a text is its tokens in a row
    " <unk>"                           a word that the vocabulary does not have

Words are what people read, but a vocabulary of them never ends: what is rare is unknown. BPE (tokenizers.py) has no
unknown words. Notes: N3 §4.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import tokenizers as hf
from tokenizers import decoders, models, pre_tokenizers

from cutaway.data.text.chunks import cut_safely
from cutaway.data.text.tokenizers import Tokenizer

UNKNOWN_WORD = " <unk>"
# A word may hold apostrophes; signs go in groups of one kind; line ends, and spaces that no word takes, go alone.
WORD_PATTERN = r" ?<unk>| ?\w+(?:['’]\w+)*| ?([^\w\s])\1*|\n|[^\S\n]+?(?= ?\S)|[^\S\n]+"


class Words(Tokenizer):
    """The words of a vocabulary, and one token for any other; `train_words` counts one."""

    def __init__(self, inner: hf.Tokenizer) -> None:
        super().__init__(inner, "words")


def build_words(words: Sequence[str], special: Sequence[str] = ()) -> Words:
    """The tokenizer of these words, which get ids in their order; the unknown word comes behind them."""
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*words, UNKNOWN_WORD]))}
    inner = hf.Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN_WORD))
    inner.pre_tokenizer = pre_tokenizers.Split(hf.Regex(WORD_PATTERN), "isolated")
    inner.decoder = decoders.Fuse()
    inner.add_special_tokens(list(special))
    return Words(inner)


def train_words(pieces: Iterable[str], vocabulary: int, special: Sequence[str] = ()) -> Words:
    """The commonest words of a text, as many as fit a vocabulary; words seen equally often by the alphabet."""
    if vocabulary < 2:
        raise ValueError(
            f"a vocabulary of words must have room for one word beside the unknown, got {vocabulary}; "
            "try tokenizer='words-10000'"
        )
    split = pre_tokenizers.Split(hf.Regex(WORD_PATTERN), "isolated")
    counts: Counter[str] = Counter()
    for piece in cut_safely(pieces):
        counts.update(word for word, _ in split.pre_tokenize_str(piece))
    counts.pop(UNKNOWN_WORD, None)
    counts.pop(UNKNOWN_WORD.strip(), None)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return build_words(ranked[: vocabulary - 1], special)


__all__ = ["UNKNOWN_WORD", "WORD_PATTERN", "Words", "build_words", "train_words"]
