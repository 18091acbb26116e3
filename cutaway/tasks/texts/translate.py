r"""Translating with an encoder–decoder: its cost, its metrics, and its translations.

    cost = mean of −log p(y_t | y_1 … y_{t−1}, source)      over the target's tokens, <end> among them

Vaswani et al. 2017. With label smoothing α the target is moved by the share α towards all tokens alike (Szegedy et al.
2016); figures are without. Notes: N2, N3 §5.9.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.pairs import normalise
from cutaway.data.text.token_rows import END, PAD, PairBatch, TokenPairs, every_pair
from cutaway.models.generation.token_streams import generate
from cutaway.tasks.texts.bleu import bleu

_TOGETHER = 64  # pairs evaluated, or texts translated, in one pass


def _logits(model: nn.Module, batch: PairBatch) -> tuple[Tensor, Tensor]:
    """The scores of every next target token, and which it is; <pad> where there is none."""
    device = next(model.parameters()).device
    source, target = torch.from_numpy(batch.source).to(device), torch.from_numpy(batch.target).to(device)
    # Padding stands on the right: no target token sees any, as none looks ahead. Without padding the way is shorter.
    mask = source != PAD if (batch.source == PAD).any() else None
    return model(source, target[:, :-1], mask).flatten(0, 1).float(), target[:, 1:].flatten()


def translation_cost(smoothing: float) -> Any:
    """The objective: mean of −log p over the batch's target tokens, in nats, with label smoothing."""
    return partial(_cost, smoothing)


def _cost(smoothing: float, model: nn.Module, batch: PairBatch) -> Tensor:
    logits, targets = _logits(model, batch)
    total = nn.functional.cross_entropy(logits, targets, ignore_index=PAD, label_smoothing=smoothing, reduction="sum")
    return total / batch.each


@torch.no_grad()
def pair_metrics(model: nn.Module, pairs: TokenPairs | None, limit: int | None = None) -> dict[str, float]:
    """Mean −log p of the target's tokens, and the share of them that come first; of ``limit`` pairs, or all."""
    if pairs is None:
        return {}
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


def spread(count: int, limit: int) -> np.ndarray:
    """``limit`` of ``count`` row numbers, evenly spread."""
    return np.arange(limit) * count // limit


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


class Task(NamedTuple):
    """A source, and every translation of it that the data has."""

    source: str
    references: list[str]


def tasks_of(pairs: TokenPairs, tokenizer: Any, limit: int | None = None) -> list[Task]:
    """The different sources of some pairs, ``limit`` of them evenly spread; pairs with one source become one task."""
    known: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(pairs)):
        known.setdefault(tuple(pairs.source[i].tolist()), []).append(i)
    sources = list(known)
    if limit is not None and limit < len(sources):
        sources = [sources[i] for i in spread(len(sources), limit)]
    return [Task(tokenizer.decode(ids), [tokenizer.decode(pairs.target[i]) for i in known[ids]]) for ids in sources]


def translation_metrics(
    model: nn.Module, pairs: TokenPairs | None, tokenizer: Any, limit: int | None = None
) -> dict[str, float]:
    """`pair_metrics` of all pairs; of greedy translations BLEU, and the share that is exactly a reference."""
    if pairs is None:
        return {}
    tasks = tasks_of(pairs, tokenizer, limit)
    written = translate(model, tokenizer, [task.source for task in tasks])
    exact = sum(text in task.references for text, task in zip(written, tasks, strict=True)) / len(tasks)
    return pair_metrics(model, pairs) | {"exact": exact, "bleu": bleu(written, [task.references for task in tasks])}


def write_translations(model: nn.Module, tokenizer: Any, tasks: Sequence[Task]) -> dict[str, str]:
    """Held-out sources with what the model makes of them, and what the data has where that is something else."""
    lines = []
    for task, text in zip(tasks, translate(model, tokenizer, [task.source for task in tasks]), strict=True):
        right = text in task.references
        lines += [task.source, f"  → {text}{' ✓' if right else ''}"]
        lines += [] if right else [f"  = {reference}" for reference in task.references[:3]]
    return {"translations.txt": "\n".join(lines) + "\n"}


def choose_pair(pairs: TokenPairs, length: int = 10) -> int:
    """A pair whose two texts are about that long: long enough to show something, short enough to be read."""
    return int(np.argmin(np.abs(pairs.source.lengths - length) + np.abs(pairs.target.lengths - 1 - length)))


__all__ = [
    "Task",
    "choose_pair",
    "pair_metrics",
    "tasks_of",
    "translate",
    "translation_cost",
    "translation_metrics",
    "write_translations",
]
