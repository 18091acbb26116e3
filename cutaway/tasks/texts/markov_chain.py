r"""A Markov chain of a text: the learner of `markov`, and a baseline beside which other language models are shown.

The counts need no steps: they are those of the training text. The steps choose the discounts of smoothing, by

    cost = mean −log p(x_{t+1} | the last tokens)         each token as if it had not been counted

As a baseline, a chain of order 5 over characters, or 2 over longer tokens, is counted in seconds; see
models/markov_chain.py.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.batches import Window
from cutaway.data.text.corpus import Corpus
from cutaway.data.text.token_files import Tokens
from cutaway.models import MarkovChain
from cutaway.overriding import override
from cutaway.tasks.texts.next_token import NextTokenLearner

_COUNTED = 2_000_000  # tokens of each text that a baseline is counted from, at most
_PIECE = 1 << 16  # tokens looked up at once


class MarkovLearner(NextTokenLearner):
    """A chain that is counted already, and learns how far to trust its counts."""

    @override
    def cost(self, model: nn.Module, batch: Window) -> Tensor:
        return left_out_cost(model, batch)

    @override
    def text_metrics(self, model: nn.Module, tokens: Tokens | None, limit: int | None = None) -> dict[str, float]:
        """The loss on all of a text, which is fast: no ``limit`` is needed."""
        return {} if tokens is None else {"loss": chain_loss(model, tokens)}


def left_out_cost(model: nn.Module, batch: Window) -> Tensor:
    """Mean −log p of the tokens of a batch, each as if it had not been counted."""
    device = next(model.parameters()).device
    tokens = torch.from_numpy(np.concatenate([batch.tokens, batch.targets[:, -1:]], 1)).to(device)
    chain: Any = getattr(model, "module", model)  # inside the wrapper of several processes
    return chain.loss(tokens, left_out=True).mean()


def count_chain(corpus: Corpus, order: int, smoothing: str = "kneser-ney", most: int | None = None) -> MarkovChain:
    """A chain with the counts of the training text, or of its first ``most`` tokens."""
    tokens = torch.from_numpy(corpus.train[:most].astype(np.int64))
    return MarkovChain.from_tokens(tokens, corpus.vocabulary, order, smoothing)


def markov_baseline(corpus: Corpus) -> dict[str, Any]:
    """The chain's rule in words and its loss on the validation text, by its name; {} if there is none."""
    if corpus.validation is None:
        return {}
    order = 5 if corpus.tokenizer.kind in ("characters", "bytes") else 2
    if len(corpus.train) < order + 2 or len(corpus.validation) < order + 1:
        return {}
    loss = chain_loss(count_chain(corpus, order, most=_COUNTED), corpus.validation[:_COUNTED])
    rule = f"to guess each token by what followed the last {order} tokens in the training text, smoothed (Kneser–Ney)"
    return {f"Markov chain of order {order}": {"rule": rule, "metrics": {"loss": loss}}}


@torch.no_grad()
def chain_loss(model: Any, tokens: Any) -> float:
    """Mean −log p of every token of a text that has a whole context before it, a piece at a time."""
    order, total, count = model.spec.order, 0.0, 0
    ids = tokens[:]
    for first in range(0, len(ids) - order, _PIECE):
        piece = torch.from_numpy(ids[first : first + _PIECE + order].astype(np.int64))
        losses = model.loss(piece[None].to(next(model.parameters()).device))
        total, count = total + float(losses.double().sum()), count + losses.numel()
    return total / count
