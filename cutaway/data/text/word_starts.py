r"""Where words begin in a row of tokens: what whole-word and span masks need to know.

    token i begins a word   ⟺   it has a space in front,  or its first character is of another kind than the last
                                character of token i − 1 (letters, digits, white space, signs)

and a token that is a space alone begins the word that comes after it. This is how GPT-2's and most byte-level
tokenizers cut a text before they merge. A WordPiece tokenizer says itself which
tokens go on ("##ing"); in one of whole words each token is a word. All of it is looked up by token: one table a
vocabulary, no text is decoded. Radford et al. 2019, §2.2; Wu et al. 2016, §4.1.
"""

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from cutaway.data.text.tokenizers import Characters, Tokenizer

LETTER, DIGIT, WHITE, SIGN = range(4)  # kinds of the character at a token's end
BEGINS, GOES_ON, ENDS = range(4, 7)  # where a token says itself that it begins, goes on or ends


class WordTable(NamedTuple):
    """For each token the kinds of its first and last character, whether it is more than white space, and a space."""

    first: Int[np.ndarray, "v"]
    last: Int[np.ndarray, "v"]
    filled: Bool[np.ndarray, "v"]
    space: Bool[np.ndarray, "v"]

    def starts(self, tokens: Int[np.ndarray, "b n"]) -> Bool[np.ndarray, "b n"]:
        """Which tokens begin a word; the first of a row always does."""
        first = self.first[tokens[:, 1:]]
        joined = (first == self.last[tokens[:, :-1]]) | (first == GOES_ON)
        begins = np.ones(tokens.shape, dtype=bool)
        begins[:, 1:] = ~joined
        leads = self.space[tokens[:, :-1]] & (first != WHITE) & (first != BEGINS)
        begins[:, :-1] |= leads
        begins[:, 1:] &= ~leads
        return begins


def word_table(tokenizer: Tokenizer) -> WordTable:
    """The table of a vocabulary."""
    inner = tokenizer.inner
    model = json.loads(inner.to_str())["model"]
    names = [inner.id_to_token(i) or "" for i in range(tokenizer.vocabulary)]
    special = set(tokenizer.special_tokens.values())
    if model["type"] == "WordPiece":
        mark = model["continuing_subword_prefix"]
        kinds = [(GOES_ON, ENDS) if name.startswith(mark) else (BEGINS, ENDS) for name in names]
        return _table(kinds, ["x"] * len(names))
    if model["type"] == "WordLevel" and not isinstance(tokenizer, Characters):
        return _table([(BEGINS, ENDS)] * len(names), names)
    texts = [
        name
        if i in special
        else name.replace("▁", " ")
        if "▁" in name
        else inner.decode([i], skip_special_tokens=False)
        for i, name in enumerate(names)
    ]
    return _table([_kinds(text) for text in texts], texts)


def _table(kinds: list[tuple[int, int]], texts: list[str]) -> WordTable:
    first, last = np.array(kinds, dtype=np.int64).reshape(-1, 2).T
    filled, space = (np.array(row, dtype=bool) for row in ([bool(x.strip()) for x in texts], [x == " " for x in texts]))
    return WordTable(first.copy(), last.copy(), filled, space)


def _kinds(text: str) -> tuple[int, int]:
    """The kinds of a token's ends; a space in front of something else begins a word.

    >>> _kinds("ing") == (LETTER, LETTER), _kinds(" 3") == (BEGINS, DIGIT), _kinds("  ") == (WHITE, WHITE)
    (True, True, True)
    """
    if not text:
        return BEGINS, ENDS
    led = text[0].isspace() and bool(text.strip())
    return (BEGINS if led else _kind(text[0])), _kind(text[-1])


def _kind(character: str) -> int:
    if character.isspace():
        return WHITE
    if character.isalpha() or character == "\ufffd":  # a byte of a longer character: most often of a letter
        return LETTER
    return DIGIT if character.isnumeric() else SIGN


__all__ = ["WordTable", "word_table"]
