"""Next tokens by a carried state: the loss is that of one pass over the text."""

import math

import numpy as np
import pytest
import torch

from cutaway.data.text.token_files import Tokens
from cutaway.models import RecurrentLM
from cutaway.tasks.texts import carried_state
from cutaway.tasks.texts.carried_state import carried_loss


@pytest.mark.parametrize("limit", [None, 150])
@pytest.mark.parametrize("count", [2, 40, 700, 701])
def test_the_loss_is_that_of_one_pass(monkeypatch: pytest.MonkeyPatch, limit: int | None, count: int):
    """Every token but the first once, with the state of all text before it where that is within reach."""
    monkeypatch.setattr(carried_state, "WARM", 64)
    torch.manual_seed(0)
    model = RecurrentLM(vocabulary=9, width=5, cell="rnn").double()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.5)  # forgets within far fewer than 64 tokens
    ids = np.random.default_rng(0).integers(9, size=count)
    with torch.no_grad():
        logits = model(torch.from_numpy(ids[None, :-1]))[0]
    losses = torch.nn.functional.cross_entropy(logits, torch.from_numpy(ids[1:]), reduction="none")
    found = carried_loss(model, Tokens(ids), limit)["loss"]
    if limit is None or limit >= count - 1:
        assert math.isclose(found, losses.mean().item(), rel_tol=1e-7)
    else:
        rows = (count - 1) // 64
        firsts, each = [r * (count - 1) // rows for r in range(rows)], -(-limit // rows)
        kept = torch.cat([losses[i : i + each] for i in firsts])
        assert math.isclose(found, kept.mean().item(), rel_tol=1e-7)


def test_no_text_no_loss():
    assert carried_loss(RecurrentLM(vocabulary=3, width=2), None) == {}
