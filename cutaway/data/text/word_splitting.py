r"""Splits a text into words as taggers count them: punctuation and English clitics apart.

"They can't pay $3.50 (U.S.)!"  →  They ca n't pay $ 3.50 ( U.S. ) !

A simple rule for texts that come without words of their own; whoever has a better tokenizer writes CoNLL-U with it.
"""

import re

_APOSTROPHE = "['’]"
_WORD = re.compile(
    rf"""
    https?://\S+ | www\.\S+ | [\w.+-]+@[\w-]+(?:\.[\w-]+)+      # addresses
    | (?:[^\W\d_]\.){{2,}}                                      # U.S.
    | \d+(?:[.,:/]\d+)*                                         # 1,000.50
    | n{_APOSTROPHE}t\b                                         # the second half of can't, don't
    | [^\W\d]+?(?=n{_APOSTROPHE}t\b)                            # and the first
    | {_APOSTROPHE}(?:s|m|d|re|ve|ll)\b                         # it's, I'm, we'd
    | \w+ | \.{{2,}} | -{{2,}} | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)


def split_words(text: str) -> list[str]:
    """The words of a text.

    >>> split_words("They can't pay $3.50 (U.S.)!")
    ['They', 'ca', "n't", 'pay', '$', '3.50', '(', 'U.S.', ')', '!']
    """
    return _WORD.findall(text)


__all__ = ["split_words"]
