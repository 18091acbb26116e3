r"""What a tagger is trained and measured by.

    loss       −mean log p(tag_t | sentence)            over the words that have a tag
    accuracy   share of the words tagged right          a tag that training never had counts as wrong
    unknown    the same, over words that training never had, in whatever case

Where tags say where names begin and go on (B-PER, I-PER, O), a name counts only as a whole: `span_f1`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import NO_TAG, EncodedSentences, TagBatch, every_sentence
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.models.sequences.tagger import TaggerInput


def as_input(batch: TagBatch, device: torch.device) -> TaggerInput:
    """A batch as the model takes it."""
    return TaggerInput(*(torch.from_numpy(getattr(batch, name)).to(device) for name in TaggerInput._fields))


def tag_cost(model: nn.Module, batch: TagBatch) -> Tensor:
    """−mean log p(tag) in nats. In training rare words are hidden now and then, so that unknown ones are learned too.

    A word that training has n times is hidden with chance a / (a + n). Kiperwasser, Goldberg 2016.
    """
    device = next(model.parameters()).device
    inputs = as_input(batch, device)
    if model.training:
        hidden = torch.rand(batch.hide.shape, device=device) < torch.from_numpy(batch.hide).to(device)
        inputs = inputs._replace(words=inputs.words.masked_fill(hidden, 0))
    logits = model(inputs).flatten(0, 1).float()
    tags = torch.from_numpy(batch.tags).to(device).flatten()
    return nn.functional.cross_entropy(logits, tags, ignore_index=NO_TAG, reduction="sum") / max(batch.each, 1.0)


def tag_probabilities(model: nn.Module, sentences: EncodedSentences) -> list[Float32[np.ndarray, "t c"]]:
    """p(tag | sentence) of every word of every sentence."""
    device = next(model.parameters()).device
    found: list[Any] = [None] * len(sentences)
    with torch.no_grad():
        for rows, batch in every_sentence(sentences):
            p = model(as_input(batch, device)).float().softmax(-1).cpu().numpy()
            for row, length, own in zip(rows.tolist(), batch.lengths.tolist(), p, strict=True):
                found[row] = own[:length]
    return found


class Answers(NamedTuple):
    """The tags of many words, true and predicted, as ids; one that training never had is the number of tags."""

    truth: Int[np.ndarray, "n"]
    predicted: Int[np.ndarray, "n"]
    unknown: np.ndarray  # whether training never had the word
    loss: Float[np.ndarray, "n"]  # NaN where training never had the tag

    @property
    def right(self) -> np.ndarray:
        return self.truth == self.predicted


Probabilities = list[Float32[np.ndarray, "_ c"]]  # of the tags of every word, sentence by sentence


def answers(model: nn.Module, sentences: EncodedSentences, said: Probabilities | None = None) -> Answers:
    """What a model says of every word that has a tag, in the order of the sentences; ``said`` if it is known."""
    p = np.concatenate(tag_probabilities(model, sentences) if said is None else said)
    unknown = sentences.spellings.word[sentences.types] == 0
    tagged = sentences.tags != NO_TAG
    p, truth, unknown = p[tagged], sentences.tags[tagged], unknown[tagged]
    true_p = np.append(p, np.full((len(p), 1), np.nan), 1)[np.arange(len(p)), truth] if len(p) else np.empty(0)
    return Answers(truth, p.argmax(1), unknown, -np.log(np.maximum(true_p, 1e-38)))


def tag_metrics(
    model: nn.Module, sentences: EncodedSentences | None, said: Probabilities | None = None
) -> dict[str, float]:
    """Loss, accuracy, accuracy on words that training never had, and the share of errors, by which weights are kept."""
    if sentences is None:
        return {}
    found = answers(model, sentences, said)
    if not len(found.truth):
        return {}
    accuracy = float(found.right.mean())
    known = found.loss[np.isfinite(found.loss)]
    metrics = {"loss": float(known.mean()) if len(known) else 0.0, "accuracy": accuracy, "error": 1 - accuracy}
    if found.unknown.any():
        metrics["accuracy_on_unknown_words"] = float(found.right[found.unknown].mean())
    return metrics


def whole_metrics(
    model: nn.Module, sentences: EncodedSentences | None, said: Probabilities | None = None
) -> dict[str, float]:
    """`tag_metrics` and the mean F1 of all tags; of names, the F1 of whole names."""
    if sentences is None:
        return {}
    metrics = {name: value for name, value in tag_metrics(model, sentences, said).items() if name != "error"}
    found = answers(model, sentences, said)
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


__all__ = [
    "Answers",
    "FrequentTags",
    "Probabilities",
    "answers",
    "are_spans",
    "as_input",
    "span_f1",
    "spans",
    "tag_cost",
    "tag_f1",
    "tag_metrics",
    "tag_probabilities",
    "whole_metrics",
]
