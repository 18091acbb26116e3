r"""A new head for masked tokens, under which an encoder that has none can go on with language.

    logits = norm(φ(z W + b)) Eᵀ + c        E the token table; c_v = log p(v), how often v occurs in the training text

The bias c is what a reader who knows no context would say: training begins near the loss of token counts, not of
chance. W begins as the identity, since what an encoder makes of a token still resembles its row of E: MiniLM on film
reviews begins at a loss of 7.13, and of 7.64 with a random W. Gururangan et al. 2020 (pretraining that goes on).
"""

from typing import Any

import torch
from torch import nn

from cutaway.data.text.token_files import Tokens
from cutaway.models.base import with_head
from cutaway.models.specs.parts import HeadSpec
from cutaway.tasks.texts.unigrams import token_shares
from cutaway.training.adapters.stacked_adapters import rebuilt

KIND = "masked"


def reads_masks(model: Any) -> bool:
    """Whether a model guesses masked tokens."""
    head = getattr(model.spec, "head", None)
    return head is not None and head.kind == KIND


def may_read_masks(model: Any) -> bool:
    """Whether a model can have a head for masked tokens, be it that it has one or that it is given one."""
    return KIND in getattr(type(model.spec), "head_kinds", ())


def with_masked_head(model: Any, train: Tokens) -> Any:
    """The model under a new head for masked tokens, tied to its token table; sentences are pooled as before."""
    new = rebuilt(model, lambda m: with_head(m, HeadSpec(KIND), keep_pooler=False))
    with torch.no_grad():
        nn.init.eye_(new.head.transform.linear.weight)
        new.head.bias.copy_(torch.from_numpy(token_shares(train, new.spec.vocabulary)).log())
    return new


__all__ = ["may_read_masks", "reads_masks", "with_masked_head"]
