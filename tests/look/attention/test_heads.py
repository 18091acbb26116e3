"""What a head does, against loops over the definition and by hand."""

import math

import numpy as np
import pytest
import torch

from cutaway.look import head_scores
from cutaway.look.attention.heads import after_a_copy


def causal(heads: int, n: int) -> torch.Tensor:
    scores = torch.randn(heads, n, n, dtype=torch.float64)
    return scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)


def test_uniform_weights():
    scores = head_scores(torch.full((2, 7, 7), 1 / 7))
    assert scores["entropy"].values == pytest.approx([math.log(7)] * 2)
    assert scores["previous"].values == pytest.approx([1 / 7] * 2)
    assert "induction" not in scores


def test_causal_uniform_weights():
    weights = torch.ones(1, 5, 5).tril() / torch.arange(1, 6).view(1, 5, 1)
    scores = head_scores(weights)
    assert scores["entropy"].values[0] == pytest.approx(math.log(math.factorial(5)) / 5)  # mean of log 1 … log 5
    assert scores["distance"].values[0] == pytest.approx((0 + 1 + 2 + 3 + 4) / 2 / 5)  # row i: mean of 0 … i


def test_a_previous_token_head():
    scores = head_scores(torch.diag(torch.ones(5), -1).unsqueeze(0))  # the first query looks nowhere
    assert scores["previous"].values[0] == 1
    assert scores["entropy"].values[0] == 0
    assert scores["distance"].values[0] == 1


def test_an_induction_head():
    tokens = list("abcabc")
    weights = torch.eye(6)  # without a copy to go by, each looks at itself
    for i in (3, 4, 5):
        weights[i] = torch.eye(6)[i - 2]  # a at 3 → b at 1
    scores = head_scores(weights.unsqueeze(0), tokens)
    assert scores["induction"].values[0] == 1
    assert head_scores(torch.eye(6).unsqueeze(0), tokens)["induction"].values[0] == 0


def test_against_loops_over_the_definition():
    a, tokens = causal(3, 9), [1, 2, 1, 3, 2, 2, 1, 4, 1]
    scores = head_scores(a, tokens)
    for h in range(3):
        entropy = [-sum(w * math.log(w) for w in row if w > 0) for row in a[h].tolist()]
        distance = [sum(w * abs(i - j) for j, w in enumerate(row)) for i, row in enumerate(a[h].tolist())]
        previous = [a[h, i, i - 1].item() for i in range(1, 9)]
        induction = []
        for i in range(9):
            after = [j + 1 for j in range(i) if tokens[j] == tokens[i]]
            if after:
                induction.append(sum(a[h, i, j].item() for j in after))
        for name, values in dict(entropy=entropy, distance=distance, previous=previous, induction=induction).items():
            assert scores[name].values[h] == pytest.approx(np.mean(values), abs=1e-12), name


def test_nothing_to_average_over_is_no_number():
    assert math.isnan(head_scores(torch.ones(1, 1, 1))["previous"].values[0])  # one token has none before it
    assert math.isnan(head_scores(causal(1, 3), ["a", "b", "c"])["induction"].values[0])
    assert math.isnan(head_scores(torch.zeros(1, 3, 3))["entropy"].values[0])


def test_copies_are_earlier_and_followed():
    follows = after_a_copy("aab")
    assert np.argwhere(follows).tolist() == [[1, 1]]  # the second a follows the first; b has no copy


def test_messages():
    with pytest.raises(ValueError, match=r"the same queries as keys, got shape \(2, 3, 4\); use self-attention"):
        head_scores(torch.rand(2, 3, 4))
    with pytest.raises(ValueError, match="tokens must name each of the 4 keys, got 3"):
        head_scores(torch.rand(2, 4, 4), ["a", "b", "c"])
