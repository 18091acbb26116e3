r"""A Markov chain of order k: the next token depends on the k tokens before it, by how often each followed them.

    p(v | c) = (n(c, v) + α) / (n(c, ·) + α V)                                 additive smoothing
    p(v | c) = (n(c, v) − D) / n(c, ·) + γ(c) p(v | c without its first)       Kneser–Ney, modified and interpolated
    γ(c) = Σ_v D(n(c, v)) / n(c, ·)                                            what was discounted is passed on

A chain over V tokens has V^k (V − 1) free probabilities: 2^k over binary data. Most contexts are never seen, so counts
must be smoothed. Additive smoothing shortens a context until it is one that was seen. With Kneser–Ney each order takes
a discount D off every count (one D for counts of 1, of 2 and above, for each order) and gives it to the next shorter
context, down to 1/V.

The counts are exact; the discounts (or α) are what is learned, by gradient descent on the leave-one-out likelihood:
each token of the training text is predicted as if it had not been counted (`loss`). Laplace 1812; Kneser, Ney 1995;
Chen, Goodman 1999, §3. Notes: N3 §5.4.2.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.count_tables import UNSEEN, Counts, CountTable, count_text
from cutaway.models.generation.next_token import Prompt, left_mask
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.token_inputs import expect_real, expect_tokens, real_first
from cutaway.overriding import override

SMOOTHINGS = ("kneser-ney", "additive")


@dataclass(frozen=True)
class MarkovSpec(NamedSpec):
    """The order of a chain, its smoothing, and the sizes of its tables, which a text decides."""

    model: ClassVar[str] = "MarkovChain"

    vocabulary: int
    order: int
    smoothing: str = "kneser-ney"  # kneser-ney | additive
    contexts: tuple[int, ...] = ()  # seen contexts of 0, 1 … order tokens; (): none yet
    entries: tuple[int, ...] = ()  # seen pairs of a context and a token
    end: tuple[int, ...] = ()  # tokens that end a text

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(vocabulary=self.vocabulary)
        if self.order < 0:
            raise ValueError(f"order must be 0 or above, got {self.order}; 0 counts single tokens, try order=3")
        expect_choice("smoothing", self.smoothing, SMOOTHINGS)
        for name in ("contexts", "entries"):
            sizes = getattr(self, name) or (0,) * (self.order + 1)
            if len(sizes) != self.order + 1 or min(sizes) < 0:
                raise ValueError(
                    f"{name} must be a count for each of the orders 0 to {self.order}, got {sizes}; "
                    "MarkovChain.from_tokens counts them"
                )
            object.__setattr__(self, name, sizes)

    @property
    def free_parameters(self) -> int:
        """The probabilities that a chain of this order may choose, V^k (V − 1): 2^k for binary data."""
        return self.vocabulary**self.order * (self.vocabulary - 1)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.order + 1, 0


class MarkovChain(Model):
    """logits = MarkovChain(tokens): log p of the next token at every position, by counts of a training text.

    ``MarkovChain.from_tokens(tokens, vocabulary, order)`` counts. Where a text is shorter than the order, shorter
    contexts are used. ``mask`` marks real tokens; padding is skipped. Tap: ``logits``.
    """

    kind: ClassVar[type[NamedSpec]] = MarkovSpec
    input_kind: ClassVar[str] = "text"
    spec: MarkovSpec

    def __init__(self, spec: MarkovSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, MarkovSpec))
        spec = self.spec
        sizes_of_each = zip(spec.contexts, spec.entries, strict=True)
        self.tables = nn.ModuleList(CountTable(spec.vocabulary, c, e) for c, e in sizes_of_each)
        # D = most · σ(discounts), below the counts that it is taken from; α = e^(log_alpha)
        additive = spec.smoothing == "additive"
        self.discounts = None if additive else nn.Parameter(torch.zeros(spec.order + 1, 3))
        self.log_alpha = nn.Parameter(torch.zeros(())) if additive else None
        self.logits = Tap()

    @classmethod
    def from_tokens(
        cls,
        tokens: Int[Tensor, "n"],
        vocabulary: int,
        order: int,
        smoothing: str = "kneser-ney",
        end: tuple[int, ...] = (),
    ) -> "MarkovChain":
        """The chain of a text: its counts, and discounts estimated from how many counts are 1, 2, 3 and 4."""
        spec = MarkovSpec(vocabulary, order, smoothing, end=end)
        if len(tokens) < order + 2:
            raise ValueError(
                f"a chain of order {order} needs a text of more than {order + 1} tokens, got {len(tokens)}; "
                "lower the order, or give it a longer text"
            )
        tables = count_text(tokens, vocabulary, order, continuations=smoothing == "kneser-ney")
        sizes = {"contexts": [len(t.contexts) for t in tables], "entries": [len(t.entries) for t in tables]}
        model = cls(spec.but(**{name: tuple(found) for name, found in sizes.items()}))
        model.tables = nn.ModuleList(tables)
        if model.discounts is not None:
            with torch.no_grad():
                model.discounts.copy_(torch.stack([_first_discounts(table.counts) for table in tables]))
        return model

    @override
    @property
    def writes(self) -> str:
        return "continuations"

    @override
    def forward(self, tokens: Int[Tensor, "b t"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "b t v"]:
        expect_tokens(tokens)
        expect_real(mask, tokens)
        if mask is None:
            numbers = self._contexts(tokens)
        else:
            order, back = real_first(mask)
            numbers = [x.gather(1, back) for x in self._contexts(tokens.gather(1, order))]
        y = self._next(numbers).log()
        if self.logits.live:
            y = self.logits(y)
        return y

    def loss(self, tokens: Int[Tensor, "b t"], left_out: bool = False) -> Float[Tensor, "b n"]:
        """−log p of every token that has a whole context before it: of all but the first ``order`` of each row.

        By looking up these tokens alone; no distribution is written out. ``left_out``: each as if it had not been
        counted, for a text that was: what a chain says of its own training text otherwise is no measure.
        """
        expect_tokens(tokens)
        k = self.spec.order
        if tokens.shape[1] < k + 1:
            raise ValueError(f"rows must be longer than the order, {k}, got {tokens.shape[1]} tokens; give longer ones")
        targets = tokens[:, k:]
        # The context of no tokens stands before the first token too.
        numbers = [x[:, k - 1 : -1] for x in self._contexts(tokens)] if k else [torch.zeros_like(targets)]
        found = [(t.count(c, targets), t.about(c)) for t, c in zip(self._tables, numbers, strict=True)]
        if left_out:
            found = _without_own(found, all_orders=self.discounts is None)
        return -self._look_up(found).log()

    def begin(self, prompt: Prompt, tokens: int) -> "MarkovDecoder":
        """Goes on from a prompt for up to ``tokens`` tokens; `generate` and `beam_search` are built on it."""
        return MarkovDecoder(self, prompt, tokens)

    @property
    def _tables(self) -> list[CountTable]:
        return list(self.tables)  # type: ignore[arg-type]

    @property
    def _d(self) -> Tensor:
        """The discounts of counts of 1, 2 and above, for each order: below 1, 2 and 3."""
        assert self.discounts is not None
        return self.discounts.sigmoid() * torch.arange(1, 4, device=self.discounts.device)

    def _contexts(self, tokens: Tensor) -> list[Tensor]:
        """The number of the context that ends at each token, for each order; −1 if it was never seen."""
        found = [torch.zeros_like(tokens)]
        for j in range(1, self.spec.order + 1):
            # The context of j tokens that ends at t: that of j − 1 tokens, and the token at t − j + 1 before it.
            shift = j - 1
            number = torch.full_like(tokens, UNSEEN)
            if shift < tokens.shape[1]:
                before = tokens[:, : tokens.shape[1] - shift]
                number[:, shift:] = self._tables[j].find(found[-1][:, shift:], before)
            found.append(number)
        return found

    def _next(self, numbers: list[Tensor]) -> Tensor:
        """The probabilities of every token after each context."""
        shape, vocabulary = numbers[0].shape, self.spec.vocabulary
        like = next(self.parameters())
        p = torch.full((shape.numel(), vocabulary), 1 / vocabulary, dtype=like.dtype, device=like.device)
        for j, (table, context) in enumerate(zip(self._tables, numbers, strict=True)):
            rows, counts, tokens, about = _followers(table, context.flatten())
            known = about.total > 0
            if self.log_alpha is not None:
                alpha = self.log_alpha.exp()
                share = (counts.to(like.dtype)) / (about.total[rows] + alpha * vocabulary)
                rest = alpha / (about.total + alpha * vocabulary)
                new = rest[:, None].expand(-1, vocabulary).index_put((rows, tokens), share, accumulate=True)
            else:
                d = self._d[j]
                share = (counts - d[counts.clamp(max=3) - 1]) / about.total[rows]
                new = (_passed_on(d, about)[:, None] * p).index_put((rows, tokens), share, accumulate=True)
            p = torch.where(known[:, None], new, p)
        return p.view(*shape, vocabulary)

    def _look_up(self, found: list[tuple[Tensor, Counts]]) -> Tensor:
        """The probability of one token after each context, from its counts at every order."""
        like, vocabulary = next(self.parameters()), self.spec.vocabulary
        p = torch.full_like(found[0][0], 1, dtype=like.dtype) / vocabulary
        for j, (count, about) in enumerate(found):
            if self.log_alpha is not None:
                alpha = self.log_alpha.exp()
                new = (count + alpha) / (about.total + alpha * vocabulary)
            else:
                d = self._d[j]
                share = torch.where(count > 0, count - d[count.clamp(1, 3) - 1], 0.0)
                new = share / about.total.clamp(min=1) + _passed_on(d, about) * p
            p = torch.where(about.total > 0, new, p)
        return p


def _passed_on(d: Tensor, about: Counts) -> Tensor:
    """γ = Σ D / n(c, ·): the share that a context leaves to the shorter one."""
    return (d[0] * about.once + d[1] * about.twice + d[2] * about.oftener) / about.total.clamp(min=1)


def _followers(table: CountTable, contexts: Tensor) -> tuple[Tensor, Tensor, Tensor, Counts]:
    """All that followed some contexts: rows of ``contexts``, counts and tokens, and what is known of each context."""
    first, last = table.spans(contexts)
    sizes = last - first
    rows = torch.arange(len(contexts), device=contexts.device).repeat_interleave(sizes)
    places = torch.arange(len(rows), device=contexts.device) - (sizes.cumsum(0) - sizes)[rows] + first[rows]
    return rows, table.counts[places].long(), table.entries[places] % table.vocabulary, table.about(contexts)


def _without_own(found: list[tuple[Tensor, Counts]], all_orders: bool) -> list[tuple[Tensor, Counts]]:
    """The counts with each token's own occurrence taken out.

    Of continuation counts, a shorter context loses one only where the longer one has lost its last. Plain counts lose
    one at ``all_orders``.
    """
    left: list[tuple[Tensor, Counts]] = []
    taken = torch.ones_like(found[0][0], dtype=torch.bool)
    for count, about in reversed(found):
        out, one, two, three = (taken & (count > 0), taken & (count == 1), taken & (count == 2), taken & (count == 3))
        left.append(
            (
                count - out.long(),
                Counts(
                    about.total - out.long(),
                    about.once - one.long() + two.long(),
                    about.twice - two.long() + three.long(),
                    about.oftener - three.long(),
                ),
            )
        )
        taken = taken if all_orders else one
    return left[::-1]


def _first_discounts(counts: Tensor) -> Tensor:
    """Chen and Goodman's estimates of the three discounts, as arguments of σ.

    Y = n₁ / (n₁ + 2 n₂),  D_i = i − (i + 1) Y n_{i+1} / n_i
    """
    n = torch.bincount(counts.clamp(max=5), minlength=6)[1:5].double()
    y = n[0] / (n[0] + 2 * n[1]).clamp(min=1)
    i = torch.arange(1, 4)
    d = i - (i + 1) * y * n[1:] / n[:-1].clamp(min=1)
    return (d / i).clamp(0.05, 0.95).logit()


class MarkovDecoder:
    """The decoder of a Markov chain: the last tokens are all that it needs."""

    def __init__(self, model: MarkovChain, prompt: Prompt, tokens: int) -> None:
        self.model, self.lengths = model, prompt.lengths
        self._text = torch.cat([prompt.tokens, prompt.tokens.new_empty(len(prompt.tokens), tokens)], 1)
        self.length = prompt.tokens.shape[1]

    @property
    def text(self) -> Int[Tensor, "b t"]:
        return self._text[:, : self.length]

    def logits(self) -> Float[Tensor, "b v"]:
        most = max(self.model.spec.order, 1)
        seen = [min(n, most) for n in self.lengths]
        return self.model(self.text[:, -max(seen) :], left_mask(seen, self._text.device))[:, -1]

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        self._text[:, self.length] = tokens
        self.length += 1
        self.lengths = [n + 1 for n in self.lengths]

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        self._text = self._text[rows]
        self.lengths = [self.lengths[row] for row in rows.tolist()]


__all__ = ["SMOOTHINGS", "MarkovChain", "MarkovSpec"]
