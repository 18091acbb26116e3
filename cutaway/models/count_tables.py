r"""Counts of what followed what in a text, for contexts of one length; only what was seen is stored.

    n(c, v)      how often token v followed context c
    n(c, ·)      how often context c was followed by anything

A context of j tokens is known by its number. The number of (x_{t−j+1} … x_t) is found from that of the shorter context
(x_{t−j+2} … x_t) and the token before it, x_{t−j+1}: one search in a sorted list a token, as in a trie of suffixes. All
lists are sorted integers, so that a text of millions of tokens is counted by sorting, and a look-up is a binary search.
Shannon 1948, §3 (approximations to English). Notes: N3 §5.4.2.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from cutaway.overriding import override

UNSEEN = -1  # the number of a context that was never seen


class Counts(NamedTuple):
    """What is known of some contexts: how many tokens followed, and how many different ones once, twice, oftener."""

    total: Int[Tensor, "*b"]
    once: Int[Tensor, "*b"]
    twice: Int[Tensor, "*b"]
    oftener: Int[Tensor, "*b"]


class CountTable(nn.Module):
    """The counts of contexts of one length: sorted ``contexts``, sorted pairs ``entries``, and their ``counts``.

    contexts[i] = shorter · V + token            the number of the shorter context, and the token before it
    entries[i] = context · V + token             the number of a context, and a token that followed it
    """

    contexts: Tensor
    entries: Tensor
    counts: Tensor

    def __init__(self, vocabulary: int, contexts: int, entries: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.register_buffer("contexts", torch.zeros(contexts, dtype=torch.int64))
        self.register_buffer("entries", torch.zeros(entries, dtype=torch.int64))
        self.register_buffer("counts", torch.zeros(entries, dtype=torch.int32))
        self._sums: tuple[Tensor, Tensor] | None = None

    def find(self, shorter: Int[Tensor, "*b"], before: Int[Tensor, "*b"]) -> Int[Tensor, "*b"]:
        """The numbers of contexts, each a shorter one with a token before it; −1 where there is no such context."""
        return _search(self.contexts, shorter, before, self.vocabulary)

    def count(self, contexts: Int[Tensor, "*b"], tokens: Int[Tensor, "*b"]) -> Int[Tensor, "*b"]:
        """n(c, v): how often each token followed its context."""
        place = _search(self.entries, contexts, tokens, self.vocabulary)
        if not len(self.entries):
            return torch.zeros_like(tokens)
        return torch.where(place >= 0, self.counts[place.clamp(min=0)].long(), 0)

    def about(self, contexts: Int[Tensor, "*b"]) -> Counts:
        """n(c, ·) and how many tokens followed once, twice and oftener; all 0 for a context that was never seen."""
        first, last = self.spans(contexts)
        sums = self._cumulative()
        total, once, twice = (sums[:, last] - sums[:, first]).unbind(0)
        return Counts(total, once, twice, last - first - once - twice)

    def spans(self, contexts: Int[Tensor, "*b"]) -> tuple[Int[Tensor, "*b"], Int[Tensor, "*b"]]:
        """Where the entries of each context begin and end; both 0 for a context that was never seen."""
        seen = contexts >= 0
        low = torch.where(seen, contexts, 0) * self.vocabulary
        high = torch.where(seen, contexts + 1, 0) * self.vocabulary
        return torch.searchsorted(self.entries, low), torch.searchsorted(self.entries, high)

    def _cumulative(self) -> Tensor:
        """Running sums of the counts, and of those that are 1 and 2; made anew where other counts are loaded."""
        if self._sums is None or self._sums[0] is not self.counts:
            n = self.counts.long()
            sums = torch.stack([n, (n == 1).long(), (n == 2).long()]).cumsum(1)
            self._sums = self.counts, nn.functional.pad(sums, (1, 0))
        return self._sums[1]

    @override
    def extra_repr(self) -> str:
        return f"{len(self.contexts):,} contexts, {len(self.entries):,} entries"


def _search(keys: Tensor, left: Tensor, right: Tensor, vocabulary: int) -> Tensor:
    """The places of left · vocabulary + right among sorted keys, −1 where it is not."""
    wanted = left * vocabulary + right
    if not len(keys):
        return torch.full_like(wanted, UNSEEN)
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where((left >= 0) & (keys[place] == wanted), place, UNSEEN)


def count_text(tokens: Int[Tensor, "n"], vocabulary: int, order: int, continuations: bool) -> list[CountTable]:
    """The tables of contexts of 0, 1 … ``order`` tokens.

    With ``continuations``, contexts shorter than ``order`` count differently, as Kneser and Ney do: n(c, v) is how many
    different tokens stood before c v, not how often c v occurred. So "Francisco" is rare after an unknown word.
    """
    tables: list[CountTable] = []
    keys = numbers = torch.zeros_like(tokens)  # the number of the context before each token; there is one of 0 tokens
    for j in range(order + 1):
        if j:  # the token that stands j places before each one lengthens its context
            longer = numbers[1:] * vocabulary + tokens[: len(tokens) - j]
            keys, numbers = torch.unique(longer, return_inverse=True)
        entries, counts = torch.unique(numbers * vocabulary + tokens[j:], return_counts=True)
        table = CountTable(vocabulary, 0, 0)
        table.contexts, table.entries, table.counts = keys[:1] if j == 0 else keys, entries, counts.int()
        tables.append(table)
    if continuations:
        for shorter, table in pairwise(tables):
            context, token = table.entries // vocabulary, table.entries % vocabulary
            without_first = table.contexts[context] // vocabulary * vocabulary + token
            place = torch.searchsorted(shorter.entries, without_first)
            counts = torch.bincount(place, minlength=len(shorter.entries))
            shorter.counts = counts.clamp(min=1).int()  # the first tokens of the text have nothing before them
    return tables


__all__ = ["UNSEEN", "CountTable", "Counts", "count_text"]
