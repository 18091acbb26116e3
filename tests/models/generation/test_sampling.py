"""Choosing tokens: the filters of transformers, the right frequencies, repeatable draws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.models.generation.sampling import Sampling, choose, filtered, keep_top_p, log_softmax, penalise


def peer(how: dict, tokens: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """What transformers' processors make of the logits, in its order."""
    from transformers.generation import logits_process as hf

    if "repetition_penalty" in how:
        logits = hf.RepetitionPenaltyLogitsProcessor(how["repetition_penalty"])(tokens, logits)
    if "temperature" in how:
        logits = hf.TemperatureLogitsWarper(how["temperature"])(tokens, logits)
    if "top_k" in how:
        logits = hf.TopKLogitsWarper(how["top_k"])(tokens, logits)
    if "top_p" in how:
        logits = hf.TopPLogitsWarper(how["top_p"])(tokens, logits)
    if "min_p" in how:
        logits = hf.MinPLogitsWarper(how["min_p"])(tokens, logits)
    return logits


@pytest.mark.parametrize(
    "how",
    [
        dict(temperature=0.3),
        dict(temperature=2.5),
        dict(top_k=1),
        dict(top_k=5),
        dict(top_k=1000),
        dict(top_p=0.1),
        dict(top_p=0.9),
        dict(min_p=0.05),
        dict(min_p=0.9),
        dict(repetition_penalty=1.4),
        dict(repetition_penalty=0.8),
        dict(temperature=0.7, top_k=20, top_p=0.8, min_p=0.02, repetition_penalty=1.2),
    ],
    ids=str,
)
def test_filters_equal_transformers(how: dict):
    for seed in range(5):
        g = torch.Generator().manual_seed(seed)
        logits = 3 * torch.randn(4, 50, generator=g, dtype=torch.float64)
        tokens = torch.randint(0, 50, (4, 9), generator=g)
        theirs = peer(how, tokens, logits.clone())
        torch.testing.assert_close(filtered(logits, Sampling(**how), tokens), theirs)


def test_by_hand():
    p = torch.tensor([[0.5, 0.25, 0.15, 0.1]])
    left = lambda **how: filtered(p.log(), Sampling(**how)).isfinite().tolist()[0]
    assert left(top_k=2) == [True, True, False, False]
    assert left(top_p=0.49) == [True, False, False, False]
    assert left(top_p=0.51) == [True, True, False, False]
    assert left(top_p=0.0) == [True, False, False, False], "one is always left"
    assert left(top_p=1.0) == [True, True, True, True]
    assert left(min_p=0.29) == [True, True, True, False]  # 0.15 / 0.5 = 0.3, and 0.3 itself is a matter of rounding
    assert left(min_p=0.31) == [True, True, False, False]
    warm = filtered(p.log(), Sampling(temperature=2.0)).softmax(-1)
    torch.testing.assert_close(warm, p.sqrt() / p.sqrt().sum())  # p^{1/T}, normalised


def test_penalty_by_hand_counts_a_token_once():
    logits = torch.tensor([[2.0, -2.0, 1.0, 0.0]])
    got = penalise(logits, torch.tensor([[0, 0, 1, 0]]), 2.0)
    assert got.tolist() == [[1.0, -4.0, 1.0, 0.0]]


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12), st.floats(0.0, 1.0))
def test_top_p_keeps_the_fewest(values: list[float], p: float):
    logits = torch.tensor([values], dtype=torch.float64)
    kept = keep_top_p(logits, p).isfinite()[0]
    probabilities = logits.softmax(-1)[0]
    assert kept.any()
    assert probabilities[kept].sum() >= min(p, 1) - 1e-9, "enough"
    if kept.sum() > 1:
        assert probabilities[kept].sum() - probabilities[kept].min() < p + 1e-9, "and not one too many"
    if (~kept).any():
        assert probabilities[kept].min() >= probabilities[~kept].max() - 1e-12, "the most probable"


def test_draws_have_the_right_frequencies():
    """χ² of 20,000 draws over 5 outcomes: below 18.47 with probability 0.999 (4 degrees of freedom)."""
    p = torch.tensor([0.4, 0.3, 0.2, 0.05, 0.05], dtype=torch.float64)
    n = 20_000
    how = Sampling(seed=0)
    (generator,) = how.generators(1)
    drawn = torch.stack([choose(p.log()[None], how, [generator]) for _ in range(n)]).flatten()
    counts = torch.bincount(drawn, minlength=5)
    assert ((counts - n * p).square() / (n * p)).sum() < 18.47


def test_what_is_out_of_the_question_is_never_drawn():
    logits = torch.full((1, 1000), -torch.inf)
    logits[0, [3, 500, 999]] = 0.0
    how = Sampling(seed=0)
    (generator,) = how.generators(1)
    drawn = {choose(logits, how, [generator]).item() for _ in range(200)}
    assert drawn == {3, 500, 999}


def test_the_least_number_takes_the_first_token_that_is_left(monkeypatch):
    logits = torch.tensor([[-torch.inf, 0.0, 0.0]])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.zeros((), dtype=torch.float64))
    assert choose(logits, Sampling(seed=0), Sampling(seed=0).generators(1)).tolist() == [1]


def test_greedy():
    logits = torch.tensor([[0.0, 3.0, 1.0], [5.0, 0.0, 1.0]])
    for how in (Sampling(temperature=0), Sampling(top_k=1), Sampling(temperature=0, top_p=0.5, min_p=0.1)):
        assert how.greedy
        assert choose(logits, how, how.generators(2)).tolist() == [1, 0]


def test_seeds():
    draw = lambda how: [torch.rand((), generator=g).item() for g in how.generators(3)]
    assert draw(Sampling(seed=5)) == draw(Sampling(seed=5))
    assert draw(Sampling(seed=5))[1:] == draw(Sampling(seed=6))[:2], "example i has the seed plus i"
    assert draw(Sampling()) != draw(Sampling())


def test_torch_is_left_alone():
    before = torch.get_rng_state()
    for how in (Sampling(), Sampling(seed=3)):
        choose(torch.randn(2, 5, generator=torch.Generator().manual_seed(0)), how, how.generators(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_logs_are_at_least_float32():
    logits = torch.randn(3, 7)
    assert log_softmax(logits.half()).dtype == torch.float32
    assert log_softmax(logits.double()).dtype == torch.float64
    torch.testing.assert_close(log_softmax(logits), logits.log_softmax(-1))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (dict(temperature=-1.0), "temperature must be 0 .greedy. or above, got -1.0; try temperature=0.8"),
        (dict(temperature=float("nan")), "got nan"),
        (dict(temperature=float("inf")), "got inf"),
        (dict(top_k=0), "top_k must be above 0, got 0"),
        (dict(top_p=1.5), "top_p must be a probability from 0 to 1, got 1.5"),
        (dict(min_p=-0.1), "min_p must be a probability from 0 to 1, got -0.1"),
        (dict(repetition_penalty=0.0), "repetition_penalty must be above 0, got 0.0"),
    ],
)
def test_messages(how: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Sampling(**how)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_top_p_of_one_cuts_nothing(dtype: torch.dtype):
    """A cumulative sum over 50,000 tokens rounds to 1 long before the last of them."""
    logits = (3 * torch.randn(2, 50_000, generator=torch.Generator().manual_seed(0))).to(dtype)
    assert torch.equal(filtered(logits, Sampling(top_p=1.0)), logits)


def test_top_p_near_one_cuts_only_its_share():
    """The rest of 1 − p is what is cut, also where float32 could not add it up."""
    logits = 3 * torch.randn(1, 50_000, generator=torch.Generator().manual_seed(0))
    left = keep_top_p(logits, 0.99999).isfinite()
    lost = logits.double().softmax(-1)[~left].sum()
    assert 0 < lost <= 1.1e-5
