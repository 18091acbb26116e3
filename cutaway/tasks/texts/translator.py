r"""The learner of `transformer` and `seq2seq`: an encoder–decoder, its cost, its metrics, and its translations.

    cost = mean of −log p(y_t | y_1 … y_{t−1}, source)      over the target's tokens, <end> among them

Vaswani et al. 2017. With label smoothing α the target is moved by the share α towards all tokens alike (Szegedy et al.
2016); figures are without. Notes: N2, N3 §5.9.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.pairs import normalise
from cutaway.data.text.token_rows import END, PAD, PairBatch, PairBatches, TokenPairs, every_pair
from cutaway.models.generation.sampling import as_sampling
from cutaway.models.generation.texts import as_stops
from cutaway.models.generation.token_streams import expect_count, generate
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject, pair_subject, subject_by_model
from cutaway.tasks.texts.text_inputs import first_line
from cutaway.tasks.texts.translate import SourceText, Translations, sources_of, spread, translation_scores
from cutaway.training.jobs import Job

_TOGETHER = 64  # pairs evaluated, or texts translated, in one pass
_TRANSLATED = 2000  # validation sources translated at the end


class Translator(Learner):
    """An encoder–decoder that answers a text with a text."""

    unit = "pairs"
    task: Translations

    @classmethod
    def new(cls, settings: Any, task: Translations) -> "Translator":
        """An untrained model for the tokens of a task."""
        torch.manual_seed(settings.seed)
        return cls(settings, task, settings.new_model(task.parts.vocabulary))

    @override
    def batches(self, rank: int, world: int) -> PairBatches:
        return PairBatches(self.task.train, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: PairBatch) -> Tensor:
        return translation_cost(model, batch, self.settings.smoothing)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        pairs = self.task.validation
        return {} if pairs is None else pair_metrics(model, pairs, self.settings.evaluate_pairs)

    def evaluate_whole(self, model: nn.Module) -> dict[str, float]:
        """What is said of validation at the end of a run: all of it, and translations too."""
        pairs = self.task.validation
        return {} if pairs is None else translation_metrics(model, pairs, self.task.tokenizer, _TRANSLATED)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        sources = self.task.sources_to_write()
        job.whole = self.evaluate_whole
        job.samples = lambda model: write_translations(model, self.task.tokenizer, sources)
        return job

    # Verbs of a run.

    def measure(self, pairs: TokenPairs) -> dict[str, float]:
        """Loss, accuracy, exact translations and BLEU of some pairs."""
        return translation_metrics(self.model, pairs, self.task.parts.tokenizer)

    def outputs(self, rows: Sequence[str]) -> list[str]:
        """The translation of each text, by beam search; an empty line of a file has an empty translation."""
        texts = [text for text in rows if text] or rows
        translations = translate(self.model, self.task.tokenizer, texts, self.settings.beams)
        written = dict(zip(texts, translations, strict=True))
        return [written.get(text, "") for text in rows]

    def generate(self, prompt: str, tokens: int | None = None, **sampling: Any) -> str:
        """The translation of a prompt: by beam search, or drawn if ``sampling`` is given (temperature, top_k …)."""
        stops = as_stops(sampling.pop("stop", ()))
        beams = sampling.pop("beams", 1 if sampling.keys() - {"speculate"} else self.settings.beams)
        if not isinstance(prompt, str):
            raise ValueError(f"a text to translate must be a text, got {prompt!r}; give a sentence")
        expect_count(tokens=1 if tokens is None else tokens, beams=beams)
        as_sampling({name: value for name, value in sampling.items() if name != "speculate"})
        text = translate(self.model, self.task.tokenizer, [prompt], beams, tokens, **sampling)[0]
        ends = [text.find(one) for one in stops if one in text]
        return text[: min(ends, default=len(text))]

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text and what the model makes of it, or a pair that it was not trained on."""
        if given is not None:
            return subject_by_model(self.run, first_line(given, self.settings.encoding))
        source, target = self.task.pair_to_show()
        return pair_subject(self.run, source, target, "a pair that it was not trained on")


def _logits(model: nn.Module, batch: PairBatch) -> tuple[Tensor, Tensor]:
    """The scores of every next target token, and which it is; <pad> where there is none."""
    device = next(model.parameters()).device
    source, target = torch.from_numpy(batch.source).to(device), torch.from_numpy(batch.target).to(device)
    # Padding stands on the right: no target token sees any, as none looks ahead. Without padding the way is shorter.
    mask = source != PAD if (batch.source == PAD).any() else None
    return model(source, target[:, :-1], mask).flatten(0, 1).float(), target[:, 1:].flatten()


def translation_cost(model: nn.Module, batch: PairBatch, smoothing: float) -> Tensor:
    """Mean of −log p over the batch's target tokens, in nats, with label smoothing."""
    logits, targets = _logits(model, batch)
    total = nn.functional.cross_entropy(logits, targets, ignore_index=PAD, label_smoothing=smoothing, reduction="sum")
    return total / batch.each


@torch.no_grad()
def pair_metrics(model: nn.Module, pairs: TokenPairs, limit: int | None = None) -> dict[str, float]:
    """Mean −log p of the target's tokens, and the share of them that come first; of ``limit`` pairs, or all."""
    total = right = count = 0.0
    for batch in _batches(pairs, limit):
        logits, targets = _logits(model, batch)
        total += nn.functional.cross_entropy(logits, targets, ignore_index=PAD, reduction="sum").item()
        right += ((logits.argmax(-1) == targets) & (targets != PAD)).sum().item()
        count += batch.each
    return {"loss": total / count, "accuracy": right / count}


def _batches(pairs: TokenPairs, limit: int | None) -> Iterator[PairBatch]:
    if limit is None or limit >= len(pairs):
        yield from every_pair(pairs, _TOGETHER)
        return
    chosen = spread(len(pairs), limit)
    order = chosen[np.lexsort((pairs.source.lengths[chosen], pairs.target.lengths[chosen]))]
    for first in range(0, limit, _TOGETHER):
        yield pairs.batch(order[first : first + _TOGETHER])


def translate(
    model: Any, tokenizer: Any, texts: Sequence[str], beams: int = 1, tokens: int | None = None, **sampling: Any
) -> list[str]:
    """The translation of each text: by beam search, or greedily with ``beams`` 1, or drawn if ``sampling`` says how."""
    rows = []
    for text in texts:
        ids = tokenizer.encode(normalise(text)).tolist()
        if not 0 < len(ids) <= model.spec.context:
            raise ValueError(
                f"a text to translate must have from 1 to {model.spec.context} tokens, as in training, got {len(ids)} "
                f"for {text[:40]!r}; give a sentence, and one at a time"
            )
        rows.append(ids)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    found: list[list[int]] = [[] for _ in rows]
    together = 1 if beams > 1 else _TOGETHER
    for first in range(0, len(order), together):
        here = order[first : first + together]
        # a translation that is several times as long as its source has gone astray
        room = min(model.spec.context, 3 * len(rows[here[-1]]) + 20, tokens or model.spec.context)
        for i, answer in zip(here, _answers(model, [rows[i] for i in here], room, beams, sampling), strict=True):
            found[i] = answer
    return [tokenizer.decode(ids) for ids in found]


def _answers(model: Any, rows: list[list[int]], room: int, beams: int, sampling: dict[str, Any]) -> list[list[int]]:
    if beams > 1:
        return generate(model, rows, room, end=END, beams=beams, **sampling)
    return generate(model, rows, room, end=END, **({"temperature": 0.0} | sampling))


def translation_metrics(
    model: nn.Module, pairs: TokenPairs, tokenizer: Any, limit: int | None = None
) -> dict[str, float]:
    """`pair_metrics` of all pairs; of greedy translations BLEU, and the share that is exactly a reference."""
    sources = sources_of(pairs, tokenizer, limit)
    written = translate(model, tokenizer, [one.source for one in sources])
    return pair_metrics(model, pairs) | translation_scores(written, sources)


def write_translations(model: nn.Module, tokenizer: Any, sources: Sequence[SourceText]) -> dict[str, str]:
    """Held-out sources with what the model makes of them, and what the data has where that is something else."""
    lines = []
    for one, text in zip(sources, translate(model, tokenizer, [one.source for one in sources]), strict=True):
        right = text in one.references
        lines += [one.source, f"  → {text}{' ✓' if right else ''}"]
        lines += [] if right else [f"  = {reference}" for reference in one.references[:3]]
    return {"translations.txt": "\n".join(lines) + "\n"}
