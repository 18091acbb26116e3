r"""The task of guessing masked tokens from both sides, and its learner: a BERT, trained or tuned.

    cost = mean of −log p(x_i | the rest)       over the chosen tokens i alone
    accuracy                                    the share of them whose most probable token is the true one

`cutaway train bert` learns it, and `cutaway tune BASE --task language` of a base that reads in both directions. What is
chosen is in data/text/masking.py. The baseline guesses each token by how often it occurs. Devlin et al. 2019, §3.1.
Notes: N3 §5.8.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.masking import MaskedBatch, MaskedBatches, Masking, every_masked_batch, mask_tokens
from cutaway.data.text.special_tokens import encode_gaps, find_special_tokens
from cutaway.data.text.token_files import Tokens
from cutaway.data.text.word_starts import word_table
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject, text_subject, with_marks
from cutaway.tasks.task import Files
from cutaway.tasks.texts.corpus import CorpusTask
from cutaway.tasks.texts.text_inputs import as_texts, first_line, read_lines
from cutaway.training.jobs import Job

_TOGETHER = 32  # stretches evaluated, or texts filled, in one pass
_LEGEND = "In brackets: the model's guess for a masked token and, where it is wrong, the true one."
_LONGEST = 48  # tokens of a sample: what a page can show


class MaskedTokens(CorpusTask):
    """A text of which some tokens are hidden."""

    kind: ClassVar[str] = "texts/masked_tokens"
    special_tokens = True

    def inputs(self, source: Any) -> list[str]:
        """Texts with masks: one, several, or the lines of a file."""
        return as_texts(source)

    def answers(self, guesses: "Sequence[Guess]", texts: Sequence[str]) -> list[dict[str, Any]]:
        """A row for each candidate of each mask."""
        return [guess._asdict() for guess in guesses]


class MaskedTokensLearner(Learner):
    """A model that reads a text in both directions and guesses what is hidden in it."""

    unit = "tokens"
    task: MaskedTokens
    model: Any

    @cached_property
    def masking(self) -> Masking:
        """How stretches of a text are masked, as long as the model has room."""
        settings, spec = self.settings, self.model.spec
        tokenizer = self.task.parts.tokenizer
        words = None if settings.mask == "tokens" else word_table(tokenizer)
        vocabulary, room = min(tokenizer.vocabulary, spec.vocabulary), min(settings.context, spec.context)
        return Masking(find_special_tokens(tokenizer), vocabulary, room, settings.masked, settings.mask, words)

    @override
    def batches(self, rank: int, world: int) -> MaskedBatches:
        return MaskedBatches(self.task.parts.train, self.masking, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: MaskedBatch) -> Tensor:
        return masked_cost(model, batch)

    def text_metrics(self, model: nn.Module, tokens: Tokens | None, limit: int | None = None) -> dict[str, float]:
        """Loss and accuracy on a text, or on about ``limit`` tokens of it; {} if there is none."""
        return masked_metrics(model, tokens, self.masking, limit)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return self.text_metrics(model, self.task.parts.validation, self.settings.evaluate_tokens)

    @override
    def files(self) -> Files:
        return {"tokenizer.json": self.task.parts.tokenizer.save}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, tokenizer = super().job(rank, world), self.task.parts.tokenizer
        samples = masked_samples(self.task.held_out, self.masking)
        job.units = self.settings.batch * self.masking.context
        job.whole = lambda model: self.text_metrics(model, self.task.parts.validation)
        job.samples = lambda model: write_guesses(model, tokenizer, samples)
        return job

    # A run that is there.

    def read_inputs(self, source: str) -> list[str]:
        """The lines of a file, or a text."""
        return read_lines(source, self.settings.encoding)

    def outputs(self, texts: Sequence[str]) -> "list[Guess]":
        """For each mask of each text, its five most probable fillings."""
        return fill_masks(self.model, self.run.tokenizer, texts)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text between the special tokens of the model; without one of yours, one of the held-out text, masked."""
        if given is not None:
            text = first_line(given, self.settings.encoding)
            return text_subject(self.run, with_marks(self.run.tokenizer, text), "your text")
        (sample,) = masked_samples(self.task.held_out, self.masking, 1)
        return text_subject(self.run, sample.ids, "the beginning of the validation text, with masked tokens")


class Guess(NamedTuple):
    """A candidate for a masked token, its probability, and the text with it (other masks filled by their best)."""

    text: str
    mask: int  # which of the text's masks, from 1 on
    candidate: str
    probability: float
    filled: str


def _logits(model: nn.Module, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """The scores of the chosen tokens, and what they are."""
    device = next(model.parameters()).device
    tokens, targets, chosen = (torch.from_numpy(x).to(device) for x in batch)
    return model(tokens, at=chosen).float(), targets


def masked_cost(model: nn.Module, batch: MaskedBatch) -> Tensor:
    """Mean of −log p over the chosen tokens, in nats; 0 of a share of a batch that has none."""
    logits, targets = _logits(model, batch)
    return nn.functional.cross_entropy(logits, targets) if len(targets) else logits.sum()


@torch.no_grad()
def masked_metrics(
    model: nn.Module, tokens: Tokens | None, masking: Masking, limit: int | None = None
) -> dict[str, float]:
    """Mean −log p of masked tokens, and the share of them that the model guesses; of about ``limit`` tokens, or all."""
    if tokens is None:
        return {}
    total = right = count = 0.0
    for batch in every_masked_batch(tokens, masking, _TOGETHER, limit):
        logits, targets = _logits(model, batch)
        total += nn.functional.cross_entropy(logits, targets, reduction="sum").item()
        right += (logits.argmax(-1) == targets).sum().item()
        count += len(targets)
    return {"loss": total / count, "accuracy": right / count}


@torch.no_grad()
def fill_masks(model: Any, tokenizer: Any, texts: Sequence[str], count: int = 5) -> list[Guess]:
    """The ``count`` most probable candidates for every mask of every text, best first."""
    special, found = find_special_tokens(tokenizer), []
    texts = [text for text in texts if text or len(texts) == 1]  # an empty line of a file has nothing to fill
    rows = [encode_gaps(tokenizer, text) for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if special.mask not in row:
            raise ValueError(
                f"a text to fill must have a masked token, got {text[:60]!r}; write {special.name} where one is missing"
            )
        if len(row) > model.spec.context:
            raise ValueError(
                f"a text must fit into the model's context of {model.spec.context} tokens, got {len(row)} for "
                f"{text[:40]!r}; give less of it"
            )
    for first in range(0, len(rows), _TOGETHER):
        here = slice(first, first + _TOGETHER)
        p = _probabilities(model, rows[here], special.mask)
        for text, row in zip(texts[here], rows[here], strict=True):
            mine, p = p[: row.count(special.mask)], p[row.count(special.mask) :]
            found += _guesses(tokenizer, text, row, mine, count)
    return found


def _probabilities(model: Any, rows: list[list[int]], mask: int) -> Tensor:
    """For every mask, in order, the probability of each token."""
    device = next(model.parameters()).device
    longest = max(map(len, rows))
    tokens = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)
    real = torch.arange(longest, device=device) < torch.tensor([len(row) for row in rows], device=device)[:, None]
    # rows of one length need no mask, and take the faster path
    logits = model(tokens, mask=None if bool(real.all()) else real, at=(tokens == mask) & real)
    return logits.float().softmax(-1).cpu()


def _guesses(tokenizer: Any, text: str, row: list[int], p: Tensor, count: int) -> list[Guess]:
    places = [i for i, token in enumerate(row) if token == find_special_tokens(tokenizer).mask]
    best = list(row)
    for place, token in zip(places, p.argmax(-1).tolist(), strict=True):
        best[place] = token
    found = []
    for number, (place, chances) in enumerate(zip(places, p, strict=True), start=1):
        values, tokens = chances.topk(min(count, len(chances)))
        for value, token in zip(values.tolist(), tokens.tolist(), strict=True):
            filled = tokenizer.decode([*best[:place], token, *best[place + 1 :]])
            found.append(Guess(text, number, tokenizer.decode([token]), value, filled))
    return found


class MaskedSample(NamedTuple):
    """A stretch of held-out text with masked tokens, and what stood there: the same ones at every evaluation."""

    ids: list[int]
    chosen: list[int]  # places in ids
    truth: list[int]


def masked_samples(tokens: Tokens, masking: Masking, count: int = 3) -> list[MaskedSample]:
    """Stretches spread over a text; every chosen token is masked, so that a reader sees which they are."""
    length = min(masking.inside, _LONGEST)
    starts = np.arange(count) * max(1, len(tokens) - length) // count
    found = []
    for number, row in enumerate(tokens.windows(starts, length)):
        _, chosen = mask_tokens(row[None], masking, 0, number, "sample")
        (places,) = np.nonzero(chosen[0])
        hidden = np.where(chosen[0], masking.special.mask, row)
        ids = [masking.special.start, *map(int, hidden), masking.special.end]
        found.append(MaskedSample(ids, [int(i) + 1 for i in places], [int(row[i]) for i in places]))
    return found


@torch.no_grad()
def write_guesses(model: nn.Module, tokenizer: Any, samples: Sequence[MaskedSample]) -> dict[str, str]:
    """Held-out text with the model's guesses in brackets; where it is wrong, also what stood there."""
    texts = []
    for ids, chosen, truth in samples:
        p = _probabilities(model, [ids], find_special_tokens(tokenizer).mask)
        pieces, last = [], 0
        for place, guess, was in zip(chosen, p.argmax(-1).tolist(), truth, strict=True):
            meant = tokenizer.decode([was])
            space = " " if meant.startswith(" ") else ""  # the space of a word stands before the bracket
            inside = _in_brackets(tokenizer, guess) + ("" if guess == was else f", not {_in_brackets(tokenizer, was)}")
            pieces += [tokenizer.decode(ids[last:place]), f"{space}[{inside}]"]
            last = place + 1
        texts.append("".join([*pieces, tokenizer.decode(ids[last:])]).strip())
    return {"gaps.txt": "\n\n———\n\n".join([_LEGEND, *texts]) + "\n"}


def _in_brackets(tokenizer: Any, token: int) -> str:
    """A guess in brackets: without the space of a word, line ends made visible."""
    text = tokenizer.decode([token])
    return text.removeprefix(" ").replace("\n", "↵") or tokenizer.inner.id_to_token(token)
