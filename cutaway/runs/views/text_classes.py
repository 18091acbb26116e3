r"""Views of classifiers of texts: what is taken for what, the hardest texts, and the words that speak for a class."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.data.labelled.ngrams import parts_of
from cutaway.look import confusion_matrix
from cutaway.look.charts.bar_panels import bar_panels
from cutaway.look.charts.text_lists import text_list
from cutaway.look.language.token_strips import token_strip
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import short
from cutaway.tasks.subjects import Subject
from cutaway.tasks.texts.text_readers import UNKNOWN

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_HARDEST = 8  # texts shown
_STRONGEST = 8  # n-grams of a class
_CLASSES = 12  # that have a panel of n-grams


def has_votes(run: "Run") -> bool:
    """Runs of classifiers of texts."""
    return getattr(run.model, "readers", None) is not None and run.tokenizer is not None


def classifies_texts(run: "Run") -> bool:
    """Runs that give texts probabilities of labels."""
    return run.recipe.task_kind == "texts/classify"


def has_readers(run: "Run") -> bool:
    """Runs of classifiers that read the words of a text."""
    return has_votes(run) and len(getattr(run.model, "readers", ())) > 0


def has_ngrams(run: "Run") -> bool:
    """Runs of classifiers with a bag of n-grams."""
    return has_votes(run) and getattr(run.model, "ngrams", None) is not None


def text_results(run: "Run", subject: Subject) -> list[Picture]:
    """What each class is taken for, and the texts that the model is most wrong about."""
    texts = run.task.parts
    rows = texts.validation
    if rows is None:
        return []
    learner: Any = run.learner
    p = learner.outputs(rows)
    counts = np.zeros((len(texts.labels),) * 2, dtype=np.int64)
    np.add.at(counts, (rows.labels, p.argmax(1)), 1)
    title = f"What each text is, and what it is taken for: {len(rows.texts):,} texts not trained on"
    found = [confusion_matrix(counts, list(texts.labels), title=title)]
    true = p[np.arange(len(p)), rows.labels]
    order = [i for i in np.argsort(true)[:_HARDEST].tolist() if p[i].argmax() != rows.labels[i]]
    if order:
        heads = [
            f"{texts.labels[rows.labels[i]]}, taken for {texts.labels[int(p[i].argmax())]} ({p[i].max():.0%})"
            for i in order
        ]
        title = "The texts that it is most wrong about, of those not trained on"
        caption = "Some of these are hard for a reader too; others carry a wrong label or a word that misleads."
        found.append(text_list([rows.texts[i] for i in order], heads, title=title, caption=caption))
    return found


def telling_words(run: "Run", subject: Subject) -> Picture:
    """Which words of the text speak for its class, and which against: what changes when one is hidden."""
    labels = run.task.labels
    logits = subject.output(run.model)[0]
    best, second = logits.topk(2).indices.tolist()
    without = hidden_one_by_one(run, subject)
    effect = (logits[best] - logits[second]) - (without[:, best] - without[:, second])
    p = logits.double().softmax(-1)
    title = f"What speaks for {short(labels[best], 30)} ({p[best]:.0%}), over {short(labels[second], 30)}"
    picture = token_strip(effect.numpy(), _shown(subject), title=title, value="log odds that a word adds")
    return picture.captioned(
        f"Red words speak for {short(labels[best], 30)}, blue ones for {short(labels[second], 30)}: "
        "hidden, they change the odds most."
    )


def _shown(subject: Subject) -> list[str]:
    """The tokens without the spaces before them, which say nothing here."""
    return [token.strip() or token for token in subject.tokens]


@torch.no_grad()
def hidden_one_by_one(run: "Run", subject: Subject) -> torch.Tensor:
    """The logits of the text with each of its words hidden in turn: from readers, and from its n-grams."""
    learner: Any = run.learner
    tokens, features = subject.arguments
    count = tokens.shape[1]
    hidden = tokens.repeat(count, 1)
    hidden[torch.arange(count), torch.arange(count)] = UNKNOWN
    pieces = list(subject.tokens)
    texts = ["".join([*pieces[:i], " ", *pieces[i + 1 :]]) for i in range(count)]
    bags = learner.encoder.encode_texts(texts).features.padded(np.arange(count))
    return run.model(hidden, torch.from_numpy(bags).to(features.device)).cpu()


def attended_words(run: "Run", subject: Subject) -> Picture:
    """Which words the readers' attention pooling weighs most."""
    model: Any = run.model
    seen = subject.read(model, *(f"readers.{i}.pool.weights" for i in range(len(model.readers))))
    weights = torch.stack([weight[0] for weight in seen.values()]).mean(0)
    title = "Where the readers attend when they make one vector of the text"
    picture = token_strip(weights.numpy(), _shown(subject), title=title, value="attention weight")
    return picture.captioned("The stronger its colour, the larger a word's share in the vector that is classified.")


def telling_ngrams(run: "Run", subject: Subject) -> Picture:
    """The n-grams that speak most strongly for each class, of those that training had."""
    from cutaway.data.labelled.ngrams import Ngrams
    from cutaway.tasks.texts.text_readers import NGRAMS

    model: Any = run.model
    path = run.file(NGRAMS)
    assert path is not None
    names = Ngrams.load(path).names
    strength = (model.ngrams.ratios * model.ngrams.weight).detach().cpu()
    strength = strength - strength.mean(1, keepdim=True)
    kinds = [parts_of(name)[0] for name in names]
    words_alone = torch.tensor([kind in ("word", "pair") for kind in kinds])
    labels = run.task.labels
    groups = {}
    for number, label in enumerate(labels[:_CLASSES]):
        column = strength[:, number].masked_fill(~words_alone, -torch.inf)
        top = column.topk(min(_STRONGEST, int(words_alone.sum()))).indices.tolist()
        groups[label] = {parts_of(names[i])[1]: float(strength[i, number]) for i in top}
    note = f"{_CLASSES} of {len(labels)} classes." if len(labels) > _CLASSES else ""
    return bar_panels(
        groups,
        title="Words and pairs of words that speak most for each class",
        value="log odds that it adds",
        caption="The longer its bar, the more a word or pair adds to the odds of the class; ^ and $ are a text's ends.",
        note=note,
    )


__all__ = [
    "attended_words",
    "classifies_texts",
    "has_ngrams",
    "has_readers",
    "has_votes",
    "hidden_one_by_one",
    "telling_ngrams",
    "telling_words",
    "text_results",
]
