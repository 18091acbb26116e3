r"""What counting reaches on a text: a Markov chain, smoothed, beside which a trained language model is shown.

A chain of order 5 over characters, or 2 over longer tokens, is counted in seconds; see models/markov_chain.py.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.data.text.corpus import Corpus

_COUNTED = 2_000_000  # tokens of each text, at most
_PIECE = 1 << 16  # tokens looked up at once


def markov_baseline(corpus: "Corpus") -> dict[str, Any]:
    """The chain's rule in words and its loss on the validation text, by its name; {} if there is none."""
    if corpus.validation is None:
        return {}
    order = 5 if corpus.tokenizer.kind in ("characters", "bytes") else 2
    if len(corpus.train) < order + 2 or len(corpus.validation) < order + 1:
        return {}
    import numpy as np
    import torch

    from cutaway.models import MarkovChain

    tokens = torch.from_numpy(corpus.train[:_COUNTED].astype(np.int64))
    loss = chain_loss(MarkovChain.from_tokens(tokens, corpus.vocabulary, order), corpus.validation[:_COUNTED])
    rule = f"to guess each token by what followed the last {order} tokens in the training text, smoothed (Kneser–Ney)"
    return {f"Markov chain of order {order}": {"rule": rule, "metrics": {"loss": loss}}}


def chain_loss(model: Any, tokens: Any) -> float:
    """Mean −log p of every token of a text that has a whole context before it, a piece at a time."""
    import numpy as np
    import torch

    order, total, count = model.spec.order, 0.0, 0
    ids = tokens[:]
    with torch.no_grad():
        for first in range(0, len(ids) - order, _PIECE):
            piece = torch.from_numpy(ids[first : first + _PIECE + order].astype(np.int64))
            losses = model.loss(piece[None].to(next(model.parameters()).device))
            total, count = total + float(losses.double().sum()), count + losses.numel()
    return total / count


__all__ = ["chain_loss", "markov_baseline"]
