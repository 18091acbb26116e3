"""Sentence polarity and subjectivity with the `classifier` recipe, beside two linear models over the same ten folds.

Polarity: 10,662 sentences of film reviews, half of them positive (Pang, Lee 2005). Subjectivity: 10,000 sentences, half
from reviews, half from summaries of plots (Pang, Lee 2004). Ten folds, each class in its share, as published results
have them: NBSVM 79.4 and 93.2 (Wang, Manning 2012), Kim's CNN 81.5 and 93.4 with word2vec's vectors of 300 numbers.

    TF-IDF       words and word pairs, logistic regression (scikit-learn)
    NB bigrams   words and word pairs by naive Bayes' log-count ratios, logistic regression (scikit-learn)

The strength of both penalties, and the recipe's settings, are chosen inside the training part of the first fold (the
recipe's by ``python benchmarks/sentence_classes.py inner``) and are the same for all folds.
Differences are paired by fold; their interval is Student's t with 9 degrees of freedom.
"""

import json
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.stats
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from timing import show

from cutaway.data.labelled.ngrams import Ngrams
from cutaway.data.text.tokenizers import load_tokenizer
from cutaway.recipes.texts.classifier import ClassifierRecipe
from cutaway.runs.execution import optimizers_of, plan_of
from cutaway.tasks.texts.text_readers import TextEncoder, class_probabilities
from cutaway.training.loop import Loop

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
GLOVE = DATA / "weights" / "glove" / "glove.6B.50d.top20k.f16.npy.xz"
CORPORA = {"polarity": ("sentence_polarity.zip", ".neg", ".pos"), "subjectivity": ("subjectivity.zip", "plot", "quote")}
_WORD = r"(?u)\S+"  # the sentences come with spaces between all words and signs

Part = tuple[np.ndarray, np.ndarray]  # texts and labels


def sentences(name: str) -> Part:
    """The sentences of a corpus and their classes, 0 and 1."""
    file, *classes = CORPORA[name]
    texts: list[str] = []
    labels: list[int] = []
    with zipfile.ZipFile(DATA / "text" / file) as archive:
        for label, ending in enumerate(classes):
            member = next(m for m in archive.namelist() if ending in m.rsplit("/", 1)[-1])
            lines = archive.read(member).decode("latin-1").split("\n")
            texts += [line.strip() for line in lines if line.strip()]
            labels += [label] * (len(texts) - len(labels))
    return np.array(texts, dtype=object), np.array(labels)


def folds(part: Part, count: int = 10) -> Iterator[tuple[Part, Part]]:
    """Training and test part of every fold."""
    texts, labels = part
    for train, test in StratifiedKFold(count, shuffle=True, random_state=0).split(texts, labels):
        yield (texts[train], labels[train]), (texts[test], labels[test])


def tfidf(train: Part, test: Part, penalty: float) -> float:
    """Accuracy of logistic regression on TF-IDF."""
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=_WORD, sublinear_tf=True)
    model = LogisticRegression(C=penalty, max_iter=300).fit(vectorizer.fit_transform(train[0]), train[1])
    return 100 * model.score(vectorizer.transform(test[0]), test[1])


def weighted_bigrams(train: Part, test: Part, penalty: float) -> float:
    """Accuracy of logistic regression on n-grams, each times its log-count ratio."""
    vectorizer = CountVectorizer(ngram_range=(1, 2), token_pattern=_WORD, binary=True)
    x = vectorizer.fit_transform(train[0]).astype(float)
    one, other = (np.asarray(x[train[1] == label].sum(0)).ravel() + 1 for label in (1, 0))
    ratios = scipy.sparse.diags(np.log(one / one.sum()) - np.log(other / other.sum()))
    model = LogisticRegression(C=penalty, max_iter=300).fit(x @ ratios, train[1])
    return 100 * model.score(vectorizer.transform(test[0]).astype(float) @ ratios, test[1])


def inner_parts(train: Part, count: int, seed: int = 1) -> Iterator[tuple[Part, Part]]:
    """Parts of a training part, to choose settings by."""
    for rows, held in StratifiedShuffleSplit(count, test_size=0.1, random_state=seed).split(*train):
        yield (train[0][rows], train[1][rows]), (train[0][held], train[1][held])


def best_penalty(model: Any, train: Part, penalties: tuple[float, ...]) -> float:
    """The penalty that does best inside the training part."""
    parts = list(inner_parts(train, 3))
    return max(penalties, key=lambda penalty: np.mean([model(*pair, penalty) for pair in parts]))


def classifier(train: Part, test: Part, **settings: Any) -> float:
    """Accuracy of the recipe, trained on the whole training part."""
    table = {"text": list(train[0]), "label": [str(label) for label in train[1]]}
    options = {"vectors": str(GLOVE)} | settings
    recipe: Any = ClassifierRecipe.make(data=table, validation=0.0, test=0.0, **options)
    job = recipe.job()
    with tempfile.TemporaryDirectory() as folder:
        for name, write in job.files.items():
            write(Path(folder) / name)
        ngrams = Ngrams.load(Path(folder) / "ngrams.txt") if recipe.ngrams else None
        encoder = TextEncoder(load_tokenizer(folder), ngrams, recipe.context)
    loop = Loop(job, optimizers_of(recipe, job.model), plan_of(recipe, job.model.device))  # type: ignore[arg-type]
    loop.run()
    p = class_probabilities(job.model.eval(), encoder.encode_texts(list(test[0])))
    return 100 * float((p.argmax(1) == test[1]).mean())


def interval(differences: np.ndarray) -> tuple[float, float, float]:
    """The mean of paired differences and its 95 % interval."""
    mean, error = differences.mean(), differences.std(ddof=1) / len(differences) ** 0.5
    reach = scipy.stats.t.ppf(0.975, len(differences) - 1) * error
    return mean, mean - reach, mean + reach


def report(name: str, rows: list[tuple[float, float, float, float]]) -> None:
    found = np.array(rows)
    ours, best = found[:, 2], found[:, :2][:, found[:, :2].mean(0).argmax()]
    mean, low, high = interval(ours - best)
    table = [
        (f"fold {i}", f"TF-IDF {a:.2f}   NB bigrams {b:.2f}   classifier {c:.2f}   ({s:.0f} s of one thread)")
        for i, (a, b, c, s) in enumerate(rows, start=1)
    ]
    table.append(("mean", "TF-IDF {:.2f}   NB bigrams {:.2f}   classifier {:.2f}".format(*found.mean(0)[:3])))
    table.append(("gain over the better linear model", f"{mean:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}"))
    show(f"{name}: {len(rows)} folds, accuracy in %", table)


def choose(name: str, count: int, options: list[dict[str, Any]]) -> None:
    """Accuracies inside the training part of the first fold, for some settings."""
    train, _ = next(folds(sentences(name)))
    for settings in options:
        started = time.process_time()
        found = [classifier(*pair, **settings) for pair in inner_parts(train, count)]
        seconds = (time.process_time() - started) / count
        shown = " ".join(f"{accuracy:.2f}" for accuracy in found)
        print(f"{name} {settings}: {np.mean(found):.2f} ({shown}), {seconds:.0f} s each", flush=True)


def main(*names: str, **settings: Any) -> None:
    if not GLOVE.is_file():
        print(f"\nsentence classes: skipped, {GLOVE} is not there; set CUTAWAY_DATA")
        return
    for name in names or CORPORA:
        rows: list[Any] = []
        first, _ = next(folds(sentences(name)))
        chosen = [
            (model, best_penalty(model, first, penalties))
            for model, penalties in ((tfidf, (3.0, 10.0, 30.0)), (weighted_bigrams, (0.1, 0.3, 1.0)))
        ]
        print(f"{name}: penalties C = {', '.join(str(penalty) for _, penalty in chosen)}", flush=True)
        for train, test in folds(sentences(name)):
            linear = [model(train, test, penalty) for model, penalty in chosen]
            started = time.process_time()
            rows.append((*linear, classifier(train, test, **settings), time.process_time() - started))
            print(f"{name} fold {len(rows)}: {' '.join(f'{value:.2f}' for value in rows[-1])}", flush=True)
        report(name, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["inner"]:
        choose(sys.argv[2], int(sys.argv[3]), [json.loads(one) for one in sys.argv[4:]])
    else:
        main(*sys.argv[1:])
