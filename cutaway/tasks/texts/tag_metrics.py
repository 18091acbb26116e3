r"""The metrics of a tagger, and the baseline beside it.

    loss       −mean log p(tag_t | sentence)            over the words that have a tag
    accuracy   share of the words tagged right          a tag that training never had counts as wrong
    unknown    the same, over words that training never had, in whatever case

Where tags say where names begin and go on (B-PER, I-PER, O), a name counts only as a whole: `span_f1`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import NO_TAG, EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged

Probabilities = list[Float32[np.ndarray, "_ c"]]  # of the tags of every word, sentence by sentence


class Answers(NamedTuple):
    """The tags of many words, true and predicted, as ids; one that training never had is the number of tags."""

    truth: Int[np.ndarray, "n"]
    predicted: Int[np.ndarray, "n"]
    unknown: np.ndarray  # whether training never had the word
    loss: Float[np.ndarray, "n"]  # NaN where training never had the tag

    @property
    def right(self) -> np.ndarray:
        return self.truth == self.predicted


def word_answers(probabilities: Probabilities, sentences: EncodedSentences) -> Answers:
    """What a model says of every word that has a tag, in the order of the sentences."""
    p = np.concatenate(probabilities)
    unknown = sentences.spellings.word[sentences.types] == 0
    tagged = sentences.tags != NO_TAG
    p, truth, unknown = p[tagged], sentences.tags[tagged], unknown[tagged]
    true_p = np.append(p, np.full((len(p), 1), np.nan), 1)[np.arange(len(p)), truth] if len(p) else np.empty(0)
    return Answers(truth, p.argmax(1), unknown, -np.log(np.maximum(true_p, 1e-38)))


def tag_metrics(probabilities: Probabilities, sentences: EncodedSentences) -> dict[str, float]:
    """Loss, accuracy, accuracy on words that training never had, and the share of errors, by which weights are kept."""
    found = word_answers(probabilities, sentences)
    if not len(found.truth):
        return {}
    accuracy = float(found.right.mean())
    known = found.loss[np.isfinite(found.loss)]
    metrics = {"loss": float(known.mean()) if len(known) else 0.0, "accuracy": accuracy, "error": 1 - accuracy}
    if found.unknown.any():
        metrics["accuracy_on_unknown_words"] = float(found.right[found.unknown].mean())
    return metrics


def whole_metrics(probabilities: Probabilities, sentences: EncodedSentences) -> dict[str, float]:
    """`tag_metrics` and the mean F1 of all tags; of names, the F1 of whole names."""
    metrics = {name: value for name, value in tag_metrics(probabilities, sentences).items() if name != "error"}
    found = word_answers(probabilities, sentences)
    if not len(found.truth):
        return metrics
    scores = tag_f1(found, len(sentences.lexicon.tags))
    there = [score for score, count in scores if count]
    metrics["macro_f1"] = float(np.mean(there)) if there else 0.0  # where training had none of these tags
    tags = [*sentences.lexicon.tags, "never seen in training"]
    if are_spans(sentences.lexicon.tags) and (sentences.tags != NO_TAG).all():
        metrics["span_f1"] = span_f1(*(_by_sentence(ids, sentences, tags) for ids in (found.truth, found.predicted)))
    return metrics


def tag_f1(found: Answers, tags: int) -> list[tuple[float, int]]:
    """F1 = 2 · right / (given + predicted) of each tag, and how many words have it."""
    given = np.bincount(found.truth, minlength=tags + 1)
    said = np.bincount(found.predicted, minlength=tags + 1)
    right = np.bincount(found.truth[found.right], minlength=tags + 1)
    f1 = 2 * right / np.maximum(given + said, 1)
    return [(float(f1[i]), int(given[i])) for i in range(tags)]


def are_spans(tags: Sequence[str]) -> bool:
    """Whether tags say where names begin and go on: B-, I-, O; E- or L- for last words, S- or U- for single ones."""
    marked = [tag for tag in tags if tag not in ("O", "_")]
    return bool(marked) and all(tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") and len(tag) > 2 for tag in marked)


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """The names in a sentence: first word, word after the last, kind. I- after another kind begins a name.

    >>> sorted(spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]))
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    """
    found, begun, kind = set(), 0, ""
    for i, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if kind and (mark not in ("I", "E", "L") or name != kind):
            found.add((begun, i, kind))
            kind = ""
        if name and not kind:
            begun, kind = i, name
        if kind and mark in ("E", "L", "S", "U"):
            found.add((begun, i + 1, kind))
            kind = ""
    return found


def span_f1(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """F1 of whole names: first word, last word and kind must be right. Tjong Kim Sang, De Meulder 2003."""
    pairs = [(spans(a), spans(b)) for a, b in zip(truth, predicted, strict=True)]
    right, total = sum(len(a & b) for a, b in pairs), sum(len(a) + len(b) for a, b in pairs)
    return 2 * right / total if total else 1.0


def _by_sentence(ids: np.ndarray, sentences: EncodedSentences, tags: list[str]) -> list[list[str]]:
    return [[tags[i] for i in part] for part in np.split(ids, np.cumsum(sentences.lengths)[:-1])]


class FrequentTags:
    """The baseline: a word's most frequent tag in training; of a word never seen, that of its longest known end."""

    rule = "each word's most frequent tag in training; of words never seen, the most frequent one of their ending"

    def __init__(self, sentences: Sequence[Tagged], longest: int = 4) -> None:
        self.longest = longest
        words: dict[str, Counter[str]] = {}
        for sentence in sentences:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                if tag is not None:
                    for key in (word, *self._ends(word)):
                        words.setdefault(key, Counter())[tag] += 1
        self.best = {key: min(counts, key=lambda tag: (-counts[tag], tag)) for key, counts in words.items()}

    def _ends(self, word: str) -> list[str]:
        """Keys that no word is: those of its ends, from the longest, and one that all words share."""
        return [f"\t{word[-n:].lower()}" for n in range(min(self.longest, len(word)), 0, -1)] + ["\t"]

    def tag(self, word: str) -> str:
        return next(self.best[key] for key in (word, *self._ends(word)) if key in self.best)

    def metrics(self, sentences: Sequence[Tagged], lexicon: Lexicon) -> dict[str, float]:
        """Accuracy on some sentences, as `tag_metrics` has it."""
        pairs = [(w, t) for s in sentences for w, t in zip(s.words, s.tags, strict=True) if t is not None]
        right = [self.tag(word) == tag for word, tag in pairs]
        unknown = [ok for ok, (word, _) in zip(right, pairs, strict=True) if not lexicon.knows(word)]
        found = {"accuracy": float(np.mean(right))} if pairs else {}
        return found | ({"accuracy_on_unknown_words": float(np.mean(unknown))} if unknown else {})
