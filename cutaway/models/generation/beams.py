r"""Beam search and exact search look for the most probable continuation of a prompt, instead of drawing one.

    score(x_1 … x_t) = Σ log p(x_i | x_1 … x_{i−1}) / t^α

Beam search keeps the few best beginnings, extends each by every token, and keeps the best again: fast, not exact.
`exact_top` is exact: no continuation is more probable than its beginning, so taking the most probable beginning first
(Dijkstra 1959) meets the best ends first. Graves 2012; the length penalty α is Wu et al. 2016's, 1 being the mean.
Notes: N3 §5.4.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from cutaway.models.generation.next_token import Tokens, answers, as_prompt, begin, evaluating
from cutaway.models.generation.sampling import log_softmax
from cutaway.models.generation.token_streams import as_ends, expect_count

EXPANDED = 100_000  # beginnings that `exact_top` extends before it gives up
TOGETHER = 64  # of them in one pass


class Found(NamedTuple):
    """A sequence (the prompt included, for a decoder-only model), and the log-probability of its new tokens."""

    tokens: list[int]
    log_probability: float


def beam_search(
    model: nn.Module,
    prompt: Tokens,
    tokens: int,
    *,
    beams: int = 4,
    end: int | Sequence[int] | None = None,
    alpha: float = 1.0,
) -> list[list[Found]]:
    """For each prompt the ``beams`` best continuations found, best first, of up to ``tokens`` tokens.

    ``alpha`` above 0 favours longer ones: scores are divided by length^alpha.
    """
    expect_count(tokens=tokens, beams=beams)
    if not alpha >= 0:
        raise ValueError(f"alpha must be 0 or above, got {alpha}; 0 ranks by probability, 1 by its mean")
    rows = as_prompt(prompt, torch.device("cpu")).rows
    with evaluating(model):
        return [_search(model, row, tokens, beams, as_ends(end), alpha) for row in rows]


def _search(
    model: nn.Module, prompt: Tensor, tokens: int, beams: int, ends: tuple[int, ...], alpha: float
) -> list[Found]:
    _expect_room(model, len(prompt), tokens)
    decoder = begin(model, prompt[None], tokens)
    given = _given(model, prompt)
    first = decoder.text.shape[1]
    done: list[tuple[float, Found]] = []
    scores = torch.zeros(1)
    for step in range(1, tokens + 1):
        logs = scores[:, None] + log_softmax(decoder.logits()).cpu()
        vocabulary, alive = logs.shape[-1], decoder.text[:, first:].tolist()
        # Beginnings that end leave the beam, and others take their places: (1 + ends) × beams are enough to fill it.
        best, where = logs.flatten().topk(min((1 + len(ends)) * beams, logs.numel()))
        kept: list[tuple[int, int, float]] = []
        for rank, (value, place) in enumerate(zip(best.tolist(), where.tolist(), strict=True)):
            row, token = divmod(place, vocabulary)
            if token not in ends:
                kept.append((row, token, value))
            elif rank < beams:
                done.append((value / step**alpha, Found([*given, *alive[row], token], value)))
        kept = kept[:beams]
        done = sorted(done, key=lambda pair: -pair[0])[:beams]
        if not kept:
            break
        decoder.pick(torch.tensor([row for row, _, _ in kept], device=decoder.text.device))
        decoder.append(torch.tensor([token for _, token, _ in kept], device=decoder.text.device))
        scores = torch.tensor([value for _, _, value in kept], dtype=logs.dtype)
        # Logs only fall: once those that ended beat what the best alive could still reach, nothing changes.
        if len(done) == beams and done[-1][0] >= scores.max().item() / tokens**alpha:
            return [found for _, found in done]
    else:
        for row, value in zip(decoder.text[:, first:].tolist(), scores.tolist(), strict=True):
            done.append((value / tokens**alpha, Found([*given, *row], value)))
    return [found for _, found in sorted(done, key=lambda pair: -pair[0])[:beams]]


def exact_top(
    model: nn.Module, prompt: Tokens, tokens: int, *, count: int = 1, end: int | Sequence[int] | None = None
) -> list[Found]:
    """The ``count`` most probable continuations of one prompt, exactly: of ``tokens`` tokens, or shorter if they ended.

    The time depends on how sure the model is; where it is not, small vocabularies and few tokens are feasible.
    """
    expect_count(tokens=tokens, count=count)
    (row,) = as_prompt(prompt, torch.device("cpu")).rows
    _expect_room(model, len(row), tokens)
    ends, given = as_ends(end), _given(model, row)
    heap: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]  # −log p of each beginning
    found: list[Found] = []
    expanded = 0
    while heap and len(found) < count:
        if _whole(heap[0][1], tokens, ends):
            cost, new = heapq.heappop(heap)
            found.append(Found([*given, *new], -cost))
            continue
        batch = [heapq.heappop(heap)]
        # Others of its length go along: they will be needed unless a better end turns up first, and cost little now.
        length = len(batch[0][1])
        while heap and len(batch) < TOGETHER and len(heap[0][1]) == length and not _whole(heap[0][1], tokens, ends):
            batch.append(heapq.heappop(heap))
        expanded += len(batch)
        if expanded > EXPANDED:
            raise ValueError(
                f"exact search extends at most {EXPANDED:,} beginnings, got more for tokens={tokens}, count={count}; "
                "ask for fewer tokens, or use beam_search"
            )
        for (cost, new), logs in zip(batch, _next_logs(model, row, [new for _, new in batch]), strict=True):
            for token, log in enumerate(logs):
                heapq.heappush(heap, (cost - log, (*new, token)))
    return found


def _next_logs(model: nn.Module, prompt: Tensor, beginnings: list[tuple[int, ...]]) -> list[list[float]]:
    with evaluating(model):
        decoder = begin(model, prompt.expand(len(beginnings), -1), len(beginnings[0]) + 1)
        for new in torch.tensor(beginnings, dtype=torch.long, device=decoder.text.device).unbind(1):
            decoder.logits()
            decoder.append(new)
        return log_softmax(decoder.logits()).tolist()


def _whole(new: tuple[int, ...], tokens: int, ends: tuple[int, ...]) -> bool:
    return len(new) == tokens or (len(new) > 0 and new[-1] in ends)


def _given(model: nn.Module, prompt: Tensor) -> list[int]:
    return [] if answers(model) else prompt.tolist()


def _expect_room(model: nn.Module, prompt: int, tokens: int) -> None:
    context = getattr(getattr(model, "spec", None), "context", None)
    if context is not None and not answers(model) and prompt + tokens - 1 > context:
        raise ValueError(
            f"a search needs prompt and tokens within the context of {context}, got {prompt} + {tokens}; "
            f"ask for at most {max(0, context - prompt + 1)} tokens"
        )
