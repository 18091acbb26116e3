r"""Words and their vectors, as a recipe hands them to its run: `run.nearest` and pictures search them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cutaway.runs.run import Run

Unseen = Callable[[str], Any]


class WordRows(NamedTuple):
    """Words, a vector for each, how often each was there, and what makes a vector of a word never seen (or None)."""

    words: Sequence[str]
    matrix: np.ndarray
    counts: Sequence[int] | None = None
    unseen: Unseen | None = None


def embedded_tokens(run: "Run") -> WordRows:
    """The tokens of a run and their embeddings, of runs that have both."""
    from cutaway.tasks.subjects import token_names

    table = getattr(getattr(run.model, "embed", None), "weight", None)
    if run.tokenizer is None or table is None:
        raise ValueError(
            f"nearest words are for runs with vectors of words or tokens, got {run.path}, a run of "
            f"{run.recipe.name!r}; train one by `cutaway train wordvectors`"
        )
    names = token_names(run.tokenizer, range(min(run.tokenizer.vocabulary, len(table))))
    return WordRows(names, table[: len(names)].detach().cpu().float().numpy())


__all__ = ["Unseen", "WordRows", "embedded_tokens"]
