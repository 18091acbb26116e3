r"""Augmentation of text, letter by letter: the slips of fast typing.

    each letter or digit changes with probability r, in one of these ways, each as likely:
        swap          it changes places with the next        keeps the letters
        deletion      it is left out
        repetition    it comes twice
        slip          it becomes a key beside it             keeps the length

Keeps blanks, punctuation and so the number of words: people read such text without effort, models of words do not until
they are trained on it. What is spelled, such as names and numbers, changes.

Belinkov and Bisk 2018; the keys are those of a US keyboard. Notes: N3 §8.2 (noise on inputs).
"""

from collections.abc import Collection, Sequence

import torch

from cutaway.blocks.checks import expect_probability

KINDS = ("swap", "deletion", "repetition", "slip")
_KEYBOARD = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def character_noise(
    texts: Sequence[str],
    rate: float,
    kinds: Collection[str] = KINDS,
    generator: torch.Generator | None = None,
) -> list[str]:
    """Each letter or digit of the ``texts`` changes with probability ``rate``, in one of the ``kinds`` of ways.

    A word keeps at least one character. Where there is no key beside a letter, it is repeated instead.

    >>> character_noise(["ab 1"], rate=1.0, kinds=["repetition"])
    ['aabb 11']
    """
    expect_probability(rate=rate)
    if isinstance(texts, str):
        raise ValueError("texts must be a list of texts, got one text; pass [text]")
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown or not kinds:
        got = repr(unknown[0]) if unknown else "none"
        raise ValueError(f"kinds must be some of {', '.join(KINDS)}, got {got}; pick of these")
    ordered = [kind for kind in KINDS if kind in kinds]
    return [_noisy(text, rate, ordered, generator) for text in texts]


def _noisy(text: str, rate: float, kinds: list[str], generator: torch.Generator | None) -> str:
    hits, which, sides = torch.rand(3, len(text), generator=generator).tolist()
    new: list[str] = []
    i = 0
    while i < len(text):
        letter = text[i]
        kind = kinds[int(which[i] * len(kinds))] if letter.isalnum() and hits[i] < rate else ""
        beside = text[i + 1] if i + 1 < len(text) and text[i + 1].isalnum() else ""
        if kind == "swap" and beside:
            new += [beside, letter]
            i += 1
        elif kind == "deletion" and (beside or (new and new[-1].isalnum())):
            pass
        elif kind == "slip":
            new.append(_slip(letter, sides[i]))
        elif kind == "repetition":
            new += [letter, letter]
        else:
            new.append(letter)
        i += 1
    return "".join(new)


def _slip(letter: str, u: float) -> str:
    """A key beside the letter's, in its case."""
    low = letter.lower()
    for row, keys in enumerate(_KEYBOARD):
        place = keys.find(low)
        if place >= 0:
            near = [keys[i] for i in (place - 1, place + 1) if 0 <= i < len(keys)]
            near += [other[place] for other in _KEYBOARD[max(0, row - 1) : row] if place < len(other)]
            found = near[int(u * len(near))]
            return found.upper() if letter.isupper() else found
    return letter * 2  # no such key


__all__ = ["KINDS", "character_noise"]
