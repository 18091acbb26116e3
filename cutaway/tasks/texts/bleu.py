r"""How good translations are, measured on texts.

    BLEU = 100 · min(1, e^{1 − r/c}) · (p_1 p_2 p_3 p_4)^{1/4}

p_n is the share of the translations' word n-grams that are in a reference, each counted at most as often as it is in
the reference that has it most often; c is the length of all translations, r that of the references nearest in length.
Papineni et al. 2002. Words are runs of letters and figures, and every other sign; case counts, nothing is smoothed.
Where no translation is long enough to have n-grams of some n, that n is left out.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+|[^\w\s]")
_LONGEST = 4  # words of an n-gram


def split_words(text: str) -> list[str]:
    """
    >>> split_words("¿Qué hora es, Tom?")
    ['¿', 'Qué', 'hora', 'es', ',', 'Tom', '?']
    """
    return _WORD.findall(text)


def bleu(translations: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU of a whole collection, from 0 to 100; ``references`` holds one or more for each translation.

    >>> bleu(["the cat sat on the mat"], [["the cat sat on the mat"]])
    100.0
    """
    if len(translations) != len(references) or not all(references):
        raise ValueError(
            f"every translation needs a reference, got {len(translations)} translations and {len(references)} lists of "
            f"references, {sum(not known for known in references)} of them empty; give one or more each"
        )
    right, all_of = Counter[int](), Counter[int]()
    ours = nearest = 0
    for text, known in zip(translations, references, strict=True):
        words, others = split_words(text), [split_words(reference) for reference in known]
        ours += len(words)
        # of two that are equally near, the shorter
        nearest += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(1, _LONGEST + 1):
            allowed = Counter[tuple[str, ...]]()
            for other in others:
                allowed |= _grams(other, n)
            found = _grams(words, n)
            right[n] += (found & allowed).total()
            all_of[n] += found.total()
    sizes = [n for n in range(1, _LONGEST + 1) if all_of[n]]
    if not sizes or any(right[n] == 0 for n in sizes):
        return 0.0
    precision = math.exp(sum(math.log(right[n] / all_of[n]) for n in sizes) / len(sizes))
    return 100 * precision * min(1.0, math.exp(1 - nearest / ours))


def _grams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


__all__ = ["bleu", "split_words"]
