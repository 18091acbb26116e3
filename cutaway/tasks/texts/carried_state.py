r"""The learner of `rnn`, `lstm` and `gru`: next tokens, predicted from a state that is carried along the text.

    h_t = cell(h_{t−1}, x_t),    p(x_{t+1} | x_1 … x_t) = softmax(h_t W + b)

In training the state goes on from batch to batch (`ContinuedWindows`), while gradients reach back one window; so it is
in evaluation, where the text is read in stretches side by side. Beside it stands a Markov chain (`markov_chain.py`).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.text.continued_windows import ContinuedWindow, ContinuedWindows
from cutaway.data.text.token_files import Tokens
from cutaway.models import CarriedState
from cutaway.overriding import override
from cutaway.tasks.texts.markov_chain import markov_baseline
from cutaway.tasks.texts.next_token import NextTokenLearner
from cutaway.training.carried_training import CarriedTraining
from cutaway.training.jobs import Job

ROWS = 32  # stretches of the validation text that are read side by side
WARM = 256  # tokens that each of them reads before its first prediction counts


class CarriedStateLearner(NextTokenLearner):
    """A recurrent net, which is given its state of the window before."""

    @override
    def fit_first(self) -> None:
        """Nothing is solved for, but the state begins here: that of no text."""
        of_step = self.settings.batches_per_step()
        batches = sum(of_step(step) for step in range(self.settings.steps))
        self.carried = CarriedTraining(self.model, batches, self.settings.scheduled_sampling)

    @override
    def batches(self, rank: int, world: int) -> ContinuedWindows:
        settings, train = self.settings, self.task.parts.train
        return ContinuedWindows(train, self.room, settings.batch, settings.jump, settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: ContinuedWindow) -> Tensor:
        return self.carried(model, batch)

    @override
    def text_metrics(self, model: nn.Module, tokens: Tokens | None, limit: int | None = None) -> dict[str, float]:
        return carried_loss(model, tokens, limit)

    @override
    def facts(self) -> dict[str, Any]:
        chain = markov_baseline(self.task.parts)
        return {"baselines": chain} if chain else {}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.callbacks = [self.carried]  # it keeps the state in checkpoints
        return job


@torch.no_grad()
def carried_loss(model: nn.Module, tokens: Tokens | None, limit: int | None = None) -> dict[str, float]:
    """Mean −log p of every token but the first, the state carried along the text.

    The text is read in stretches side by side, each of which begins some tokens early to find its state. With a
    ``limit`` so many tokens are predicted, in stretches spread evenly over the text.
    """
    if tokens is None:
        return {}
    count = len(tokens) - 1  # to be predicted
    rows = max(1, min(ROWS, count // WARM))
    first = np.arange(rows) * count // rows
    last = np.minimum(np.append(first[1:], count), first + -(-min(limit or count, count) // rows))
    length = min(count, WARM + int((last - first).max()))
    begin = (first - WARM).clip(0, count - length)
    device = next(model.parameters()).device
    state, total = CarriedState(), 0.0
    for step in range(0, length, WARM):
        x = torch.from_numpy(tokens.windows(begin + step, min(WARM, length - step) + 1)).to(device)
        logits, targets = model(x[:, :-1], state=state), x[:, 1:]
        losses = nn.functional.cross_entropy(logits.mT.float(), targets, reduction="none")
        place = (begin + step)[:, None] + np.arange(targets.shape[1])
        counts = torch.from_numpy((place >= first[:, None]) & (place < last[:, None])).to(device)
        total += float(losses[counts].double().sum())
    return {"loss": total / int((last - first).sum())}
