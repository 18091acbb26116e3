r"""Phrases: pairs of words that stand together more often than chance are joined into one, as in new_york.

    score(a, b) = (n_ab − δ) · N / (n_a · n_b)        joined where it is above the threshold

n_ab counts b right after a, N all words. δ, the least count of a word, keeps pairs of rare words apart. Each pass joins
two words, so two passes find phrases of up to four. Mikolov et al. 2013, "Distributed Representations", eq. 6, with the
factor N of its program word2phrase, which makes the threshold independent of the length of the text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from itertools import chain, pairwise

Pair = tuple[str, str]


def find_phrases(
    stretches: Iterable[list[str]], least: int = 5, threshold: float = 100.0, *, apart: bool = False
) -> frozenset[Pair]:
    """The pairs of words to join, of a text in stretches; ``apart``: no pair reaches from one stretch into the next.

    >>> sorted(find_phrases([["new", "york", "is", "new"], ["york", "new", "york"]], least=1, threshold=0.5))
    [('new', 'york')]
    """
    words: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    last: list[str] = []
    for stretch in stretches:
        words.update(stretch)
        pairs.update(pairwise(chain(last, stretch)))
        last = [] if apart else stretch[-1:] or last
    total = words.total()
    return frozenset(
        (a, b)
        for (a, b), n in pairs.items()
        if words[a] >= least and words[b] >= least and phrase_score(n, words[a], words[b], total, least) > threshold
    )


def phrase_score(together: int, first: int, second: int, total: int, least: int) -> float:
    """(n_ab − δ) · N / (n_a · n_b)."""
    return (together - least) * total / (first * second)


def join_phrases(stretches: Iterable[list[str]], phrases: Set[Pair], *, apart: bool = False) -> Iterator[list[str]]:
    """The same text with the words of each phrase joined by _, from the left; a word belongs to one phrase at most.

    >>> list(join_phrases([["in", "new"], ["york", "city"]], {("new", "york"), ("york", "city")}))
    [['in'], ['new_york'], ['city']]
    """
    waiting = ""
    for stretch in stretches:
        joined: list[str] = []
        for word in stretch:
            if not waiting:
                waiting = word
            elif (waiting, word) in phrases:
                joined.append(f"{waiting}_{word}")
                waiting = ""
            else:
                joined.append(waiting)
                waiting = word
        if apart and waiting:
            joined.append(waiting)
            waiting = ""
        yield joined
    if waiting:
        yield [waiting]


__all__ = ["find_phrases", "join_phrases", "phrase_score"]
