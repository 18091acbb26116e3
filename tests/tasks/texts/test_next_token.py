"""Next tokens: the cost by windows, and the loss on a text."""

import math

import numpy as np
import pytest
import torch

from cutaway.data.batches import Window
from cutaway.data.text.token_files import Tokens
from cutaway.models import GPT
from cutaway.tasks.texts.next_token import next_token_cost, text_loss


def uniform(vocabulary: int) -> GPT:
    """A model that finds every token equally likely."""
    model = GPT(vocabulary=vocabulary, width=8, depth=1, heads=2, context=4)
    torch.nn.init.zeros_(model.embed.weight)
    return model.eval()


def test_the_cost_of_knowing_nothing_is_log_v():
    batch = Window(np.zeros((2, 4), np.int64), np.ones((2, 4), np.int64))
    assert next_token_cost(uniform(7), batch).item() == pytest.approx(math.log(7), rel=1e-6)


def test_every_token_counts_once_in_the_evaluation():
    """Against the definition, token by token; the text is no multiple of the context."""
    torch.manual_seed(1)
    model = GPT(vocabulary=5, width=8, depth=1, heads=2, context=4).eval()
    ids = np.random.default_rng(0).integers(0, 5, 23)
    total = 0.0
    with torch.no_grad():
        for i in range(1, 23):
            first = (i - 1) // 4 * 4
            logits = model(torch.from_numpy(ids[first:i])[None])
            total -= logits[0, -1].log_softmax(-1)[ids[i]].item()
    assert text_loss(model, Tokens(ids), 4)["loss"] == pytest.approx(total / 22, rel=1e-5)


def test_a_limited_evaluation_is_spread_over_the_text():
    """The first half is zeros, the second ones, and the model knows only zeros: half of the windows cost more."""

    class Zeros(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.0))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.stack([torch.full(tokens.shape, 9.0), torch.zeros(tokens.shape)], -1)

    tokens = Tokens(np.repeat([0, 1], [4001, 4000]))  # the first token is not predicted
    sure = math.log1p(math.exp(-9.0))
    cost = text_loss(Zeros(), tokens, 10, limit=200)["loss"]
    assert cost == pytest.approx((sure + sure + 9) / 2, rel=1e-4)
    assert text_loss(Zeros(), tokens, 10, limit=10**9) == text_loss(Zeros(), tokens, 10)


def test_no_validation_no_figures():
    assert text_loss(uniform(3), None, 4) == {}
