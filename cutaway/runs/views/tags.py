r"""Views of taggers: the tag of each word, what it was found by, and what is confused with what."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.data.text.lexicon import letters
from cutaway.inside.tracing import patch
from cutaway.look import confusion_matrix, heatmap
from cutaway.look.charts.bars import bar_chart
from cutaway.look.language.tag_strips import tag_strip
from cutaway.look.language.token_strips import token_strip
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import quoted
from cutaway.models.sequences.tagger import TaggerInput
from cutaway.tasks.subjects import Subject
from cutaway.tasks.texts.tag_metrics import tag_f1, word_answers
from cutaway.tasks.texts.word_tagger import sentence_input

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_HIDDEN = "\ufffd"  # a letter that no word has
_BARS = 40  # tags shown, the most frequent


def tags_words(run: "Run") -> bool:
    """Runs that give words probabilities of tags."""
    return run.recipe.kind == "texts/tag"


def tagged(run: "Run", subject: Subject) -> Picture:
    """The tag of each word, and how sure the model is of it."""
    p = subject.output(run.model)[0].softmax(-1)
    task: Any = run.task
    return tag_strip(p, subject.tokens, task.lexicon.tags, title=f"The tag of each word of {subject.words}")


def other_words(run: "Run", subject: Subject) -> list[Picture]:
    """Which other words the tag of each word depends on."""
    words = subject.tokens
    if len(words) < 2:
        return []
    model: Any = run.model
    fall = _fall_when_zeroed(model, subject.arguments[0], slice(0, model.spec.inputs))
    np.fill_diagonal(fall, 0.0)
    picture = heatmap(
        fall,
        words,
        words,
        title="Which other words the tag of a word depends on",
        value="fall of log p",
        axes=("tag of", "without"),
    )
    i, j = divmod(int(np.abs(fall).argmax()), len(words))
    caption = (
        "Each row is a word whose tag is asked for, each column a word that is taken away: the stronger the colour, "
        f"the more it was needed. Strongest here: the tag of {quoted(words[i])} needs {quoted(words[j])}."
    )
    return [picture.captioned(caption)]


def word_parts(run: "Run", subject: Subject) -> Picture:
    """Which part of a word its tag was found by: the word itself, its vector, letters, affixes, shape."""
    model: Any = run.model
    spec, words = model.spec, subject.tokens
    widths = {
        "word": spec.word_width,
        "vector": spec.vector_width,
        "letters": spec.filters,
        "affixes": spec.affix_count * spec.affix_width,
        "shape": spec.affix_width,
    }
    falls, names, start = [], [], 0
    for name, width in widths.items():
        if width:
            part = slice(start, start + width)
            falls.append(np.diag(_fall_when_zeroed(model, subject.arguments[0], part)))
            names.append(name)
        start += width
    picture = heatmap(
        np.stack(falls),
        names,
        words,
        title="Which part of a word its tag was found by",
        value="fall of log p",
        axes=("without", "word"),
    )
    return picture.captioned(
        "Each row takes one kind of knowledge away from one word at a time: the stronger the colour, the more its tag "
        "needed it. Affixes are beginnings and ends; where a whole column is pale, the words around it are enough."
    )


def letters_of_unknown_words(run: "Run", subject: Subject) -> Picture:
    """Which letters would tell the tag of each word if it had never been seen."""
    model: Any = run.model
    task: Any = run.task
    lexicon, device = task.lexicon, next(model.parameters()).device
    values, shown = [], []
    for t, word in enumerate(subject.tokens):
        signs = letters(word)
        variants = [word, *(f"{signs[:i]}{_HIDDEN}{signs[i + 1 :]}" for i in range(len(signs)))]
        p = []
        for variant in variants:
            inputs = sentence_input([*subject.tokens[:t], variant, *subject.tokens[t + 1 :]], lexicon, device)
            p.append(_log_p(model, _as_unknown(inputs, t))[0, t])
        best = int(p[0].argmax())
        values += [float(p[0][best] - other[best]) for other in p[1:]] + [0.0]
        shown += [*signs, " "]
    picture = token_strip(
        values[:-1], shown[:-1], title="Which letters would tell the tag of a word never seen", value="fall of log p"
    )
    return picture.captioned(
        "Every word is taken for one never seen; the stronger its colour, the more a letter speaks for the tag that "
        "the word then gets."
    )


def _as_unknown(inputs: TaggerInput, t: int) -> TaggerInput:
    """The same sentence with its t-th word as one that training never had: no id, no vector, all letters."""
    words, vectors = inputs.words.clone(), inputs.vectors.clone()
    words[0, t] = 0
    vectors[inputs.places[0, t]] = 0
    return inputs._replace(words=words, vectors=vectors)


def _log_p(model: Any, inputs: TaggerInput) -> Tensor:
    with torch.no_grad():
        return model(inputs).float().log_softmax(-1).cpu()


def _fall_when_zeroed(model: Any, inputs: TaggerInput, part: slice) -> np.ndarray:
    """How far log p of each word's tag (rows) falls where a part of the input of another one (columns) is 0."""
    n = inputs.words.shape[1]
    copies = inputs._replace(
        words=inputs.words.expand(n, n), places=inputs.places.expand(n, n), lengths=inputs.lengths.expand(n)
    )
    each = torch.arange(n)

    def zeroed(x: Tensor) -> Tensor:
        x = x.clone()
        x[each, each, part] = 0.0
        return x

    before = _log_p(model, inputs)[0]
    best = before.argmax(-1)
    with patch(model, {"inputs": zeroed}):
        after = _log_p(model, copies)  # (taken away, word, tag)
    fall = before[each, best] - after[:, each, best]
    return fall.T.numpy().astype(np.float64)


def tag_results(run: "Run", subject: Subject) -> list[Picture]:
    """What each tag is taken for, and how well each is found, on sentences not trained on."""
    task: Any = run.task
    learner: Any = run.learner
    sentences, lexicon = task.parts.validation, task.lexicon
    if sentences is None:
        return []
    found = word_answers(learner.outputs(sentences), task.encode(sentences))
    known = found.truth < len(lexicon.tags)
    counts = np.zeros((len(lexicon.tags),) * 2, np.int64)
    np.add.at(counts, (found.truth[known], found.predicted[known]), 1)
    title = f"What each tag is taken for: {int(known.sum()):,} words not trained on"
    scores = [(tag, *score) for tag, score in zip(lexicon.tags, tag_f1(found, len(lexicon.tags)), strict=True)]
    often = sorted((one for one in scores if one[2]), key=lambda one: -one[2])[:_BARS]
    if not often:
        return []
    chart, rows = bar_chart({f"{tag} ({count:,})": f1 for tag, f1, count in often}, "F1", of="tag")
    worst = min(often, key=lambda one: one[1])
    note = f"The {_BARS} most frequent of {len(scores)} tags." if len(scores) > _BARS else ""
    caption = (
        "F1 is 1 where a tag is always found and never given wrongly; in brackets, how many words have it, the most "
        f"frequent first. Hardest is {worst[0]}."
    )
    words = f"Bars of F1 for {len(often)} tags; the lowest is {worst[0]} with {worst[1]:.2f}."
    bars = Picture(chart, "How well each tag is found", words, note, rows, caption=caption)
    return [confusion_matrix(counts, list(lexicon.tags), title=title), bars]


__all__ = ["letters_of_unknown_words", "other_words", "tag_results", "tagged", "tags_words", "word_parts"]
