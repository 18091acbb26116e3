r"""The task of predicting the next token of a text, and its learner by windows: a model sees no more than one at once.

    cost = mean −log p(x_{t+1} | x_1 … x_t)         over all places of a window
    loss   the same, of every token of a text       in windows side by side

Who says p writes, too: a token is drawn from it, put behind the text, and so on. `cutaway train gpt` and `cutaway tune
BASE --task language` learn it so, `rnn`, `lstm` and `gru` by a state that goes on from window to window
(`carried_state.py`), `markov` by counting (`markov_chain.py`). The baseline guesses each token by how often it occurs.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.blocks.losses.linear_cross_entropy import score_losses
from cutaway.data.batches import Batches, Window, Windows, every_window
from cutaway.data.text.corpus import Corpus
from cutaway.data.text.token_files import Tokens
from cutaway.models import generate, generate_text
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import SHOWN, Subject, text_subject
from cutaway.tasks.task import Files
from cutaway.tasks.texts.corpus import CorpusTask
from cutaway.training.adapters.records import unwrapped
from cutaway.training.jobs import Job


class NextToken(CorpusTask):
    """A text whose every token is to be predicted from those before it."""

    kind: ClassVar[str] = "texts/next_token"


class NextTokenLearner(Learner):
    """A model that reads windows of a text and says at each place what comes next."""

    unit = "tokens"
    task: NextToken

    def __init__(self, settings: Any, task: NextToken, model: nn.Module, prefix: int = 0) -> None:
        super().__init__(settings, task, model)
        self.prefix = prefix  # first tokens of every window that are given and not predicted

    @property
    def room(self) -> int:
        """Tokens that the model is given at once."""
        return self.settings.context

    @override
    def batches(self, rank: int, world: int) -> Batches[Any]:
        return Windows(self.task.parts.train, self.room, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        return next_token_cost(model, batch, self.prefix)

    def text_metrics(self, model: nn.Module, tokens: Tokens | None, limit: int | None = None) -> dict[str, float]:
        """The loss on a text, or on about ``limit`` tokens of it; {} if there is none."""
        return text_loss(model, tokens, self.room, limit, self.prefix)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return self.text_metrics(model, self.task.parts.validation, self.settings.evaluate_tokens)

    @override
    def files(self) -> Files:
        return {"tokenizer.json": self.task.parts.tokenizer.save}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, start = super().job(rank, world), opening(self.task.parts)
        tokenizer, length = self.task.parts.tokenizer, self.settings.sample_tokens
        job.units = self.settings.batch * self.room
        job.whole = lambda model: self.text_metrics(model, self.task.parts.validation)
        job.samples = lambda model: write_sample(model, tokenizer, start, length)
        return job

    # A run that is there.

    def generate(self, prompt: Any, **sampling: Any) -> str:
        """Text that goes on from the prompt, a text or a list of chat messages."""
        return generate_text(self.model, prompt, tokenizer=self.run.tokenizer, **sampling)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """A text of yours, else the beginning of what was held out."""
        if given is not None:
            return text_subject(self.run, self.run.tokenizer.encode(given), "your text")
        tokens = self.task.held_out[: min(SHOWN, self.room)]
        return text_subject(self.run, tokens, "the beginning of the validation text")


def next_token_cost(model: nn.Module, batch: Window, prefix: int = 0) -> Tensor:
    """Mean of −log p(x_{t+1} | x_1 … x_t) over the batch, in nats; a prefix is given, and only what follows counts."""
    tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
    device = next(model.parameters()).device
    tokens, targets = tokens.to(device), targets.to(device)
    given: dict[str, Any] = {"prefix": prefix} if prefix else {}
    if hasattr(unwrapped(model), "losses"):
        losses = model(tokens, **given, targets=targets)
    else:
        losses = score_losses(model(tokens, **given), targets)
    return losses[:, max(prefix - 1, 0) :].mean()


@torch.no_grad()
def text_loss(
    model: nn.Module, tokens: Tokens | None, context: int, limit: int | None = None, prefix: int = 0
) -> dict[str, float]:
    """Mean −log p of every token in windows side by side; with a ``limit``, of windows spread evenly over the text.

    Of each window, the tokens of its ``prefix`` are given and not predicted.
    """
    if tokens is None:
        return {}
    total = count = 0.0
    for window in _windows(tokens, context, limit):
        n = window.targets[:, max(prefix - 1, 0) :].size
        if not n:  # the rest of a text, shorter than the prefix
            continue
        total += next_token_cost(model, window, prefix).item() * n
        count += n
    return {"loss": total / count}


def _windows(tokens: Tokens, context: int, limit: int | None, batch: int = 32) -> Iterator[Window]:
    whole = (len(tokens) - 1) // context
    wanted = whole if limit is None else max(1, limit // context)
    if wanted >= whole:
        yield from every_window(tokens, context, batch)
        return
    starts = np.arange(wanted) * whole // wanted * context
    for first in range(0, wanted, batch):
        x = tokens.windows(starts[first : first + batch], context + 1)
        yield Window(x[:, :-1], x[:, 1:])


def opening(corpus: Corpus) -> list[int]:
    """The tokens that samples go on from: a line end, or the first token of a text that has none."""
    try:
        line_end = [int(i) for i in corpus.tokenizer.encode("\n")]
    except ValueError:
        line_end = []
    return line_end or [int(corpus.train[:1][0])]


def write_sample(model: nn.Module, tokenizer: Any, start: list[int], tokens: int) -> dict[str, str]:
    """Text that the model writes by itself, the same for the same weights."""
    if not tokens:
        return {}
    return {"text.txt": tokenizer.decode(generate(model, start, tokens, temperature=0.8, seed=0)[0])}
