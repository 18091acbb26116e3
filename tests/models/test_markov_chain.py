"""Markov chains: counts by hand, smoothing against plain dictionaries, leave-one-out against counting again."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from cutaway.models import (
    MarkovChain,
    MarkovSpec,
    beam_search,
    exact_top,
    from_spec,
    generate,
    log_probabilities,
    spec_from_dict,
)

V = 4


def text_of(count: int, seed: int = 0, vocabulary: int = V) -> Tensor:
    """Some tokens that depend on each other."""
    rng = np.random.default_rng(seed)
    tokens = [0, 1]
    for _ in range(count - 2):
        weights = (1.0 + np.arange(vocabulary)) ** (1 + tokens[-1] - tokens[-2] % 2)
        tokens.append(int(rng.choice(vocabulary, p=weights / weights.sum())))
    return torch.tensor(tokens)


def grams(tokens: list[int], n: int) -> Counter:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def kneser_ney(tokens: list[int], context: tuple[int, ...], d: Tensor, order: int) -> np.ndarray:
    """Chen and Goodman's equations with dictionaries, for a context of at most ``order`` tokens."""
    p = np.full(V, 1 / V)
    for j in range(len(context) + 1):
        c = context[len(context) - j :]
        if j == order:
            n = {v: grams(tokens, j + 1)[(*c, v)] for v in range(V)}
        else:
            n = {v: len({g[0] for g in grams(tokens, j + 2) if g[1:] == (*c, v)}) for v in range(V)}
            begins = tuple(tokens[: j + 1])
            n = {v: max(count, int((*c, v) == begins)) for v, count in n.items()}
        total = sum(n.values())
        if not total:
            continue
        off = np.array([0.0 if not n[v] else float(d[j, min(n[v], 3) - 1]) for v in range(V)])
        p = (np.array([n[v] for v in range(V)]) - off) / total + off.sum() / total * p
    return p


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_kneser_ney_equals_dictionaries(order: int):
    tokens = text_of(60)
    model = MarkovChain.from_tokens(tokens, V, order).double()
    d = model.discounts.detach().sigmoid() * torch.arange(1, 4)
    texts = torch.tensor([[3, 0, 1, 2, 2], [0, 0, 0, 0, 0], [1, 2, 3, 3, 1]])
    found = model(texts).exp()
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 5).double())
    for row, distributions in zip(texts.tolist(), found, strict=True):
        for t in range(5):
            context = tuple(row[max(0, t + 1 - order) : t + 1]) if order else ()
            expected = kneser_ney(tokens.tolist(), context, d, order)
            np.testing.assert_allclose(distributions[t].detach(), expected, rtol=1e-12)


def test_additive_smoothing_by_hand():
    """0 0 1 0 0 1 1: after 0 came 0 twice, 1 twice; after 1 came 0 once, 1 once. α = 1/2."""
    model = MarkovChain.from_tokens(torch.tensor([0, 0, 1, 0, 0, 1, 1]), 2, 1, "additive").double()
    with torch.no_grad():
        model.log_alpha.fill_(math.log(0.5))
    after = model(torch.tensor([[0, 1]])).exp()[0]
    torch.testing.assert_close(after, torch.tensor([[0.5, 0.5], [0.5, 0.5]]).double())
    model = MarkovChain.from_tokens(torch.tensor([0, 0, 0, 1, 0, 0]), 2, 1, "additive").double()  # after 0: 0 ×3, 1 ×1
    torch.testing.assert_close(model(torch.tensor([[0]])).exp()[0, 0], torch.tensor([4 / 6, 2 / 6]).double())


def test_a_context_never_seen_is_shortened():
    model = MarkovChain.from_tokens(torch.tensor([0, 1, 2, 0, 1, 2, 3]), V, 2, "additive")
    assert torch.equal(model(torch.tensor([[3, 1]]))[:, -1], model(torch.tensor([[1]]))[:, -1])


def test_free_parameters():
    """N3 §5.4.2: a chain of order k over binary data has 2^k parameters."""
    for k in range(8):
        assert MarkovSpec(2, k).free_parameters == 2**k
    assert MarkovSpec(65, 2).free_parameters == 65 * 65 * 64


def test_a_chain_recovers_the_chain_that_made_the_data():
    """2² probabilities of order 2 over binary data, from 40,000 draws: within five standard deviations."""
    truth = torch.tensor([[0.9, 0.2], [0.4, 0.7]])  # p(1 | older, newer)
    generator, text = torch.Generator().manual_seed(0), [0, 0]
    for u in torch.rand(40_000, generator=generator).tolist():
        text.append(int(u < truth[text[-2], text[-1]]))
    for smoothing in ("kneser-ney", "additive"):
        model = MarkovChain.from_tokens(torch.tensor(text), 2, 2, smoothing)
        contexts = torch.tensor(list(product(range(2), repeat=2)))
        found = model(contexts)[:, -1, 1].exp()
        seen = torch.tensor([sum(text[i : i + 2] == c for i in range(len(text))) for c in contexts.tolist()])
        p = truth.flatten()
        assert ((found - p).abs() < 5 * (p * (1 - p) / seen).sqrt() + 1e-3).all()


@pytest.mark.parametrize("smoothing", ["kneser-ney", "additive"])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_looking_up_equals_writing_out(smoothing: str, order: int):
    model = MarkovChain.from_tokens(text_of(80), V, order, smoothing).double()
    tokens = text_of(30, seed=1).view(2, 15)
    found = model.loss(tokens)
    expected = -log_probabilities(model, tokens)[:, max(order - 1, 0) :]
    torch.testing.assert_close(found[:, 1:] if order == 0 else found, expected)


@pytest.mark.parametrize("smoothing", ["kneser-ney", "additive"])
def test_leaving_one_out_equals_counting_without_it(smoothing: str):
    """Two texts that differ in one place: a token that is removed from the counts alone."""
    order, tokens = 2, text_of(70)
    model = MarkovChain.from_tokens(tokens, V, order, smoothing).double()
    left_out = model.loss(tokens[None], left_out=True)[0]
    whole = tokens.tolist()
    for place in (10, 33, 52):
        target, context = whole[place], tuple(whole[place - order : place])
        if smoothing == "additive":
            n = grams(whole, order + 1)
            n[(*context, target)] -= 1
            total = sum(n[(*context, v)] for v in range(V))
            if total:
                expected = (n[(*context, target)] + 1) / (total + V)
                assert math.isclose(left_out[place - order].exp().item() ** -1, expected, rel_tol=1e-12)
            continue
        # By the same equations, with one occurrence of the top-order gram less, from which all shorter counts follow.
        d = model.discounts.detach().sigmoid() * torch.arange(1, 4)
        tops = grams(whole, order + 1)
        tops[(*context, target)] -= 1
        counts = [None, None, +tops]
        for j in (1, 0):
            counts[j] = Counter(gram[1:] for gram in counts[j + 1])
            beginning = tuple(whole[: j + 1])  # has nothing before it
            counts[j][beginning] = max(1, counts[j][beginning])
        p = 1 / V
        for j in range(order + 1):
            c = context[order - j :]
            n = [counts[j][(*c, v)] for v in range(V)]
            if sum(n):
                off = [0.0 if not x else float(d[j, min(x, 3) - 1]) for x in n]
                p = (n[target] - off[target]) / sum(n) + sum(off) / sum(n) * p
        assert math.isclose((-left_out[place - order]).exp().item(), p, rel_tol=1e-12)


def test_density_sampling_beams_and_exact_search():
    model, prompt = MarkovChain.from_tokens(text_of(200), V, 3).double(), [2, 1]
    texts = torch.tensor([[*prompt, *rest] for rest in product(range(V), repeat=3)])
    logs = log_probabilities(model, texts)[:, 1:].sum(1)
    assert math.isclose(logs.exp().sum().item(), 1, rel_tol=1e-12)
    best = texts[logs.topk(3).indices].tolist()
    assert [found.tokens for found in exact_top(model, prompt, 3, count=3)] == best
    assert [found.tokens for found in beam_search(model, prompt, 3, beams=16, alpha=0)[0][:3]] == best
    prompts = [[1], [3, 0, 2, 1, 1], [2, 2]]
    together = generate(model, prompts, 12, seed=5)
    assert together == [generate(model, p, 12, seed=5 + i)[0] for i, p in enumerate(prompts)]


def test_drawn_texts_follow_the_chain():
    """Frequencies of 4,000 drawn tokens against the chain's own probabilities, within five standard deviations."""
    model = MarkovChain.from_tokens(text_of(300), V, 1)
    drawn = torch.tensor(generate(model, [0], 4000, seed=0)[0])
    p = model(torch.tensor([[0]])).exp()[0, 0]
    after = drawn[1:][drawn[:-1] == 0]
    share = torch.bincount(after, minlength=V) / len(after)
    assert ((share - p).abs() < 5 * (p * (1 - p) / len(after)).sqrt()).all()


def test_padding_is_skipped():
    model = MarkovChain.from_tokens(text_of(100), V, 2)
    mask = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 1]]).bool()
    tokens = torch.tensor([[9 % V, 1, 2, 3], [1, 3, 2, 3]])
    torch.testing.assert_close(model(tokens, mask)[mask].view(2, 3, V), model(torch.tensor([[1, 2, 3]] * 2)))


@pytest.mark.parametrize("smoothing", ["kneser-ney", "additive"])
def test_a_spec_opens_its_model(smoothing: str):
    model = MarkovChain.from_tokens(text_of(100), V, 3, smoothing, end=(0,))
    again = from_spec(spec_from_dict(model.spec.to_dict()))
    tokens = text_of(9)[None]
    again(tokens)  # what it remembers of its empty tables must not survive new ones
    again.load_state_dict(model.state_dict(), assign=True)
    assert torch.equal(again(tokens), model(tokens))


@pytest.mark.parametrize("smoothing", ["kneser-ney", "additive"])
def test_gradients_reach_what_is_learned(smoothing: str):
    model = MarkovChain.from_tokens(text_of(60), V, 2, smoothing).double()
    ((name, value),) = model.named_parameters()
    run = lambda p: torch.func.functional_call(_Loss(model), {f"model.{name}": p}, (text_of(60)[None],))
    assert torch.autograd.gradcheck(run, value.detach().requires_grad_())


class _Loss(torch.nn.Module):
    def __init__(self, model: MarkovChain) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model.loss(tokens, left_out=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkovSpec(5, -1), "order must be 0 or above, got -1"),
        (lambda: MarkovSpec(5, 2, "good-turing"), "smoothing must be one of kneser-ney, additive, got 'good-turing'"),
        (lambda: MarkovSpec(5, 2, contexts=(1, 2)), "contexts must be a count for each of the orders 0 to 2"),
        (
            lambda: MarkovChain.from_tokens(torch.tensor([1, 2]), 5, 2),
            "a chain of order 2 needs a text of more than 3 tokens, got 2",
        ),
        (
            lambda: MarkovChain.from_tokens(text_of(20), V, 3).loss(torch.tensor([[1, 2]])),
            "rows must be longer than the order, 3, got 2 tokens",
        ),
    ],
)
def test_messages(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()
