"""Searching: against all sequences there are."""

from itertools import product

import pytest
import torch
from torch import nn

from cutaway.models import GPT, T5, GPTSpec, beam_search, exact_top, generate, log_probabilities
from cutaway.models.generation import beams

SIZES = dict(vocabulary=5, width=12, depth=2, heads=3, context=9)


def build(kind: str = "gpt", sharpness: float = 0.5) -> nn.Module:
    torch.manual_seed(1)
    model = GPT.llama(**SIZES) if kind == "gpt" else T5(vocabulary=5, width=12, depth=1, heads=3)
    for p in model.parameters():
        nn.init.normal_(p, std=sharpness)
    return model.double()


def brute(model: nn.Module, prompt: list[int], tokens: int, end: int | None = None) -> list[tuple[float, list[int]]]:
    """Every continuation with its log-probability, best first; those that ended are not continued."""
    every = set()
    for new in product(range(5), repeat=tokens):
        cut = new.index(end) + 1 if end in new else tokens
        every.add(new[:cut])
    found = []
    for length in {len(new) for new in every}:
        rows = torch.tensor([new for new in sorted(every) if len(new) == length])
        given = torch.tensor([prompt]).expand(len(rows), -1)
        if isinstance(model, GPT):
            logs = log_probabilities(model, torch.cat([given, rows], 1))[:, len(prompt) - 1 :]
        else:
            logs = log_probabilities(model, rows, source=given)
        found += zip(logs.sum(1).tolist(), rows.tolist(), strict=True)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("end", [None, 3])
@pytest.mark.parametrize("kind", ["gpt", "t5"])
def test_exact_search_against_all_sequences(kind: str, end: int | None):
    model, prompt = build(kind), [1, 4]
    given = prompt if kind == "gpt" else []
    with torch.no_grad():
        expected = brute(model, prompt, 4, end)
    found = exact_top(model, prompt, 4, count=12, end=end)
    assert [one.tokens for one in found] == [given + new for _, new in expected[:12]]
    for one, (log, _) in zip(found, expected):
        assert one.log_probability == pytest.approx(log, abs=1e-9)


def test_exact_search_returns_all_if_asked_for_more():
    found = exact_top(build(), [1], 2, count=1000)
    assert len(found) == 25
    assert sum(2.718281828459045**one.log_probability for one in found) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("end", [None, 3])
def test_a_beam_that_holds_everything_is_exact(end: int | None):
    model = build()
    with torch.no_grad():
        expected = brute(model, [1], 4, end)
    (found,) = beam_search(model, [1], 4, beams=625, end=end, alpha=0.0)
    assert [one.tokens[1:] for one in found[:20]] == [new for _, new in expected[:20]]


@pytest.mark.parametrize("end", [None, 0, 1, 2, 3, 4])
def test_a_beam_of_one_is_greedy(end: int | None):
    model = build()
    for first in range(5):
        (found,) = beam_search(model, [first, 1], 6, beams=1, end=end, alpha=0.0)
        assert found[0].tokens == generate(model, [first, 1], 6, temperature=0, end=end)[0]


def plain_beam(model: GPT, prompt: list[int], tokens: int, width: int, end: int, alpha: float) -> list[int]:
    """By the book, without a cache and without stopping early."""
    alive, done = [(0.0, [])], []
    for step in range(1, tokens + 1):
        grown = []
        for score, new in alive:
            with torch.no_grad():
                logs = model(torch.tensor([[*prompt, *new]]))[0, -1].log_softmax(-1)
            grown += [(score + log, [*new, token]) for token, log in enumerate(logs.tolist())]
        grown = sorted(grown, reverse=True)
        done += [(score / step**alpha, new) for score, new in grown[:width] if new[-1] == end]
        alive = [one for one in grown if one[1][-1] != end][:width]
    done += [(score / tokens**alpha, new) for score, new in alive]
    return max(done)[1]


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_stopping_early_loses_nothing(alpha: float):
    for seed in range(2):
        torch.manual_seed(seed)
        model = GPT(**SIZES).double()
        for p in model.parameters():
            nn.init.normal_(p, std=0.5)
        for first, end in product(range(3), range(5)):
            found = beam_search(model, [first], 7, beams=2, end=end, alpha=alpha)[0][0].tokens[1:]
            assert found == plain_beam(model, [first], 7, 2, end, alpha)


def test_wider_beams_find_no_worse_and_exact_search_the_best():
    model = build()
    scores = [beam_search(model, [2], 6, beams=n, alpha=0.0)[0][0].log_probability for n in (1, 3, 25)]
    best = exact_top(model, [2], 6)[0].log_probability
    assert max(scores) <= best + 1e-9
    assert scores[-1] == pytest.approx(best, abs=1e-9)


def test_scores_are_those_of_the_text():
    model = build()
    for one in beam_search(model, [2, 1], 5, beams=4)[0]:
        with torch.no_grad():
            logs = log_probabilities(model, torch.tensor([one.tokens]))[0, 1:]
        assert one.log_probability == pytest.approx(logs.sum().item(), abs=1e-9)


def test_results_are_ranked_by_their_score_and_length():
    model = build()
    (found,) = beam_search(model, [1], 6, beams=8, end=3, alpha=0.7)
    ranks = [one.log_probability / (len(one.tokens) - 1) ** 0.7 for one in found]
    assert ranks == sorted(ranks, reverse=True)
    assert len({len(one.tokens) for one in found}) > 1
    assert all(3 not in one.tokens[1:-1] for one in found)


def test_length_penalty_prefers_longer_ones():
    model = build()
    mean = lambda alpha: sum(len(one.tokens) for one in beam_search(model, [1], 6, beams=4, end=3, alpha=alpha)[0])
    assert mean(2.0) >= mean(0.0)


@pytest.mark.parametrize("kind", ["gpt", "t5"])
def test_several_prompts(kind: str):
    model = build(kind)
    together = beam_search(model, [[1], [2, 3, 4]], 4, beams=3)
    assert together == [beam_search(model, prompt, 4, beams=3)[0] for prompt in ([1], [2, 3, 4])]


def test_every_continuation_may_end():
    """A vocabulary in which nothing goes on: all beams end at once."""
    torch.manual_seed(0)
    model = GPT(GPTSpec.gpt2(**SIZES | dict(vocabulary=2)))
    (found,) = beam_search(model, [0], 4, beams=2, end=[0, 1])
    assert sorted(one.tokens for one in found) == [[0, 0], [0, 1]]


def test_search_does_not_train():
    model = build().train()
    assert beam_search(model, [1], 3) == beam_search(model.eval(), [1], 3)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: beam_search(build(), [1], 0), "tokens must be above 0, got 0"),
        (lambda: beam_search(build(), [1], 3, beams=0), "beams must be above 0, got 0"),
        (
            lambda: beam_search(build(), [1], 3, alpha=-1.0),
            "alpha must be 0 or above, got -1.0; 0 ranks by probability",
        ),
        (
            lambda: beam_search(build(), [1, 2, 3], 8),
            r"prompt and tokens within the context of 9, got 3 \+ 8; ask for at most 7 tokens",
        ),
        (lambda: exact_top(build(), [1, 2, 3], 8), r"within the context of 9, got 3 \+ 8"),
        (lambda: exact_top(build(), [1], 3, count=0), "count must be above 0, got 0"),
    ],
)
def test_messages(call, message: str):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_longest_search_that_fits():
    assert len(beam_search(build(), [1, 2, 3], 7)[0][0].tokens) == 10


def test_exact_search_gives_up(monkeypatch):
    monkeypatch.setattr(beams, "EXPANDED", 100)
    with pytest.raises(
        ValueError, match="extends at most 100 beginnings, got more for tokens=6, count=900; ask for fewer"
    ):
        exact_top(build(sharpness=0.05), [1], 6, count=900)
