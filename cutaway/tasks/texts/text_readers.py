r"""The learner of the recipe `classifier`: readers of the words of a text and a bag of its n-grams vote for a class.

    cost = Σ_readers mean −log softmax(v)_y             every reader learns from its own errors
    p = softmax((1 − τ) mean v + τ u)                   what readers and n-grams say together

The votes v and u are those of `TextClassifier`. The bag is fitted before the first step (`bag_fitting.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.data.labelled.ngrams import Ngrams
from cutaway.data.labelled.text_batches import EncodedTexts, TextBatch, TextBatches, every_text
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.data.text.vector_files import read_vectors
from cutaway.models.sequences.text_classifier import TextClassifier
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.task import Files
from cutaway.tasks.temperature import FEW, find_temperature
from cutaway.tasks.texts.bag_fitting import fit_bag
from cutaway.tasks.texts.classify import TextClasses
from cutaway.training.augmentation.words import delete_words, swap_words
from cutaway.training.jobs import Job
from cutaway.waiting import doing

_TEXTS = 256  # evaluated or predicted at a time
_BAG = 10_000_000  # weights of the bag, one for each n-gram and class: of hundreds of classes each has fewer n-grams
NGRAMS = "ngrams.txt"  # in the run folder
UNKNOWN = 1


class VotingReaders(Learner):
    """Readers and n-grams, with the tokenizer that their texts are encoded by."""

    unit = "texts"
    task: TextClasses
    model: TextClassifier

    def __init__(self, settings: Any, task: TextClasses, model: TextClassifier, encoder: "TextEncoder") -> None:
        super().__init__(settings, task, model)
        self.encoder = encoder
        self.start_counts = encoder.ngrams is not None  # the bag is fitted: it may be better than what readers learn

    @classmethod
    def new(cls, settings: Any, task: TextClasses) -> "VotingReaders":
        """An untrained model for the texts of a task, whose words get the vectors that were given."""
        texts = task.parts
        words, vectors = given_vectors(settings.vectors, settings.encoding) if settings.vectors else ([], None)
        tokenizer = settings.make_tokenizer(texts.train.texts, words)
        most = min(settings.ngrams, max(_BAG // len(texts.labels), 1000))
        with doing(f"counting the n-grams of {len(texts.train.texts):,} texts"):
            ngrams = Ngrams.of(texts.train.texts, most) if settings.ngrams else None
        torch.manual_seed(settings.seed)
        width = settings.vector_width if vectors is None else vectors.shape[1]
        features = 0 if ngrams is None else len(ngrams)
        model = TextClassifier(settings.spec(len(texts.labels), tokenizer.vocabulary, features, width))
        learner = cls(settings, task, model, TextEncoder(tokenizer, ngrams, settings.context))
        learner.placed = 0 if vectors is None else place_vectors(model, tokenizer, words, vectors)
        return learner

    @classmethod
    def of_run(cls, settings: Any, task: TextClasses, model: Any) -> "VotingReaders":
        """A trained model with the tokenizer and the n-grams of its run."""
        return cls(settings, task, model, encoder_of(task.run, settings.context))

    placed: int = 0  # words of the vocabulary that were given a vector

    @override
    def fit_first(self) -> None:
        texts = self.task.parts
        with doing(f"encoding {len(texts.train.texts):,} texts"):
            self.train = self.encoder.encode(texts.train)
            self.validation = None if texts.validation is None else self.encoder.encode(texts.validation)
        if self.encoder.ngrams is not None:
            assert self.model.ngrams is not None
            ngrams = self.encoder.ngrams
            counts = ngrams.counts(self.train.features, self.train.labels, len(texts.labels))
            self.model.ngrams.set_counts(torch.from_numpy(counts), torch.from_numpy(ngrams.strengths()).float())
            fit_bag(self.model.ngrams, self.train.features, self.train.labels, self.settings.penalty)

    @override
    def batches(self, rank: int, world: int) -> TextBatches:
        return TextBatches(self.train, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: TextBatch) -> Tensor:
        return vote_cost(model, batch, self.settings.augment)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None or self.task.parts.validation is None:
            return {}
        return self.task.metrics(class_probabilities(model, self.validation), self.task.parts.validation)

    @override
    def facts(self) -> dict[str, Any]:
        features = 0 if self.encoder.ngrams is None else len(self.encoder.ngrams)
        words = f"vocabulary {self.encoder.tokenizer.vocabulary:,}; n-grams {features:,}"
        lines = [self.task.parts.summary(), f"tokenizer: {self.settings.tokenizer}, {words}"]
        if self.settings.vectors:
            lines.append(f"vectors: {self.placed:,} of {self.model.spec.vector_width} numbers")
        return {"summary": "\n".join(lines)}

    @override
    def files(self) -> Files:
        files: Files = {"tokenizer.json": self.encoder.tokenizer.save}
        if self.encoder.ngrams is not None:
            files[NGRAMS] = self.encoder.ngrams.save
        return files

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        if self.settings.calibrate and world == 1:  # shards of weights cannot be divided alone
            job.calibrate = lambda model: calibrate_votes(model, self.validation)
        return job

    def outputs(self, rows: TextRows) -> Float[np.ndarray, "n c"]:
        """P(label) of some texts."""
        return class_probabilities(self.model, self.encoder.encode(rows))

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text as the model takes it: its tokens, at most as many as a page can show, and its n-grams."""
        text, words = self.task.text_to_show(given, self)
        most = min(SHOWN, self.settings.context)
        tokenizer = self.encoder.tokenizer
        ids = tokenizer.encode(text)[:most]
        if not len(ids):
            raise ValueError("a text to look at must have a token, got none; give it some words")
        tokens = token_texts(tokenizer, text, ids)
        shown = "".join(tokens)
        if len(shown) < len(text.rstrip()):
            words = f"the first {len(ids)} tokens of {words}"
        encoder = TextEncoder(tokenizer, self.encoder.ngrams, most)
        batch = encoder.encode_texts([shown]).batch(np.array([0]))
        device = next(self.model.parameters()).device
        arguments = tuple(torch.from_numpy(part).to(device) for part in (batch.tokens, batch.features))
        return Subject(arguments, words, tokens)


@dataclass(frozen=True)
class TextEncoder:
    """Texts to arrays: tokens, at most ``context`` of each, and n-grams of the whole text (none if there are none)."""

    tokenizer: Tokenizer
    ngrams: Ngrams | None
    context: int

    def encode(self, rows: TextRows) -> EncodedTexts:
        ids = [found[: self.context] for found in self.tokenizer.encode_each(rows.texts)]
        # A text without any token is one unknown word: a row must have something to read.
        ids = [found if len(found) else np.array([UNKNOWN]) for found in ids]
        features = [np.empty(0, np.int64)] * len(ids)
        if self.ngrams is not None:
            features = [self.ngrams.encode(text) for text in rows.texts]
        return EncodedTexts(TokenRows.from_rows(ids), TokenRows.from_rows(features), rows.labels)

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """New texts, whose labels are not known."""
        return self.encode(TextRows(list(texts), np.zeros(len(texts), np.int64)))


def vote_cost(model: nn.Module, batch: TextBatch, augment: float = 0.0) -> Tensor:
    """The sum of the readers' losses, each as if it were alone; on texts with words missing or moved, if asked."""
    tokens, _, labels = as_tensors(model, batch)
    if augment:
        tokens = shaken(tokens, augment)
    votes = model(tokens, apart=True)
    return nn.functional.cross_entropy(votes.flatten(0, 1), labels.repeat(len(votes))) * len(votes)


def shaken(tokens: Int[Tensor, "b t"], rate: float) -> Int[Tensor, "b t"]:
    """Texts of which each token is left out with probability ``rate``, and as large a share of pairs change places.

    Padding (0) stays at the end. Wei and Zou 2019; see `cutaway.training.augmentation.words`.
    """
    rows = [row[row != 0].tolist() for row in tokens]
    rows = swap_words(delete_words(rows, rate), rate)
    padded = [row + [0] * (tokens.shape[1] - len(row)) for row in rows]
    return torch.tensor(padded, dtype=tokens.dtype, device=tokens.device)


def as_tensors(model: nn.Module, batch: TextBatch) -> tuple[Tensor, Tensor, Tensor]:
    """A batch on the model's device."""
    device = next(model.parameters()).device
    tokens, features, labels = (torch.from_numpy(part).to(device) for part in batch)
    return tokens, features, labels


@torch.no_grad()
def class_probabilities(model: Any, texts: EncodedTexts) -> Float[np.ndarray, "n c"]:
    """The probability of every class for any number of texts."""
    found = np.zeros((len(texts.labels), model.spec.classes))
    for rows, batch in every_text(texts, _TEXTS):
        tokens, features, _ = as_tensors(model, batch)
        found[rows] = model(tokens, features).double().softmax(-1).cpu().numpy()
    return found


@torch.no_grad()
def calibrate_votes(model: Any, texts: EncodedTexts | None) -> dict[str, float]:
    """Divides the votes of readers and n-grams by the temperature of some texts, if they are enough; returns it."""
    if texts is None or len(texts.labels) < FEW:
        return {}
    log_p = torch.from_numpy(np.log(np.clip(class_probabilities(model, texts), 1e-300, None)))
    temperature = find_temperature(log_p, torch.from_numpy(texts.labels))
    for layer in [*(reader.classify for reader in model.readers), *([model.ngrams] if model.ngrams else [])]:
        layer.weight.div_(temperature)
        layer.bias.div_(temperature)
    return {"temperature": temperature}


def given_vectors(path: str, encoding: str) -> "tuple[list[str], Float[np.ndarray, 'n v']]":
    """Words of a file and their vectors, scaled so that their entries have a spread of a half: files differ in that."""
    words, matrix = read_vectors(path, encoding=encoding)
    if not words:
        raise ValueError(f"vectors must hold at least one word, got {path} with none; give another file")
    return words, matrix * (0.5 / max(float(matrix.std()), 1e-8))


def place_vectors(model: Any, tokenizer: Tokenizer, words: Sequence[str], matrix: Float[np.ndarray, "n v"]) -> int:
    """Gives the words of the vocabulary that have a vector theirs; returns how many."""
    ids = [tokenizer.inner.token_to_id(word) for word in words]
    known = [i for i, number in enumerate(ids) if number is not None]
    if known:
        model.set_vectors(torch.tensor([ids[i] for i in known]), torch.from_numpy(matrix[known]))
    return len(known)


def encoder_of(run: Any, context: int) -> TextEncoder:
    """Texts to arrays as the run was trained."""
    path = run.file(NGRAMS)
    return TextEncoder(run.tokenizer, None if path is None else Ngrams.load(path), context)


def token_texts(tokenizer: Tokenizer, text: str, ids: Int[np.ndarray, "t"]) -> tuple[str, ...]:
    """What each token reads as in its text, with the spaces before it; joined they are the text."""
    ends = [end for _, end in tokenizer.inner.encode(text, add_special_tokens=False).offsets][: len(ids)]
    if len(ends) != len(ids):  # a text without any token
        return (text or " ",) * len(ids)
    starts = [0, *ends[:-1]]
    return tuple(text[start:end] for start, end in zip(starts, ends, strict=True))
