r"""LoRA wraps a frozen linear layer: what it computes, and low-rank updates beside it.

    y = x W + b + Σ_n (α_n / r_n) x A_n B_n         over the adapters n in use

Where W = [W_Q W_K W_V] holds several maps, an update may be for one of them: it is added to those columns of y alone.
Hu et al. 2022. Notes: N3 §8 (fine-tuning).
"""

from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.low_rank.linear_layers import as_weight, bias_of, is_convolution, is_linear, matrix_of
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.blocks.low_rank.wrapping import Adapted, ByName
from cutaway.inside.quiet import equation_of
from cutaway.overriding import override

WHOLE = "whole"  # the name of an update for all columns


class LoRA(Adapted):
    """y = x W + b + Σ (α / r) x A B: ``LoRA(linear, rank=8)``; more adapters join by `add`.

    ``parts`` are the names and sizes of the maps side by side in the base, where it holds several. ``active`` are the
    names of the adapters in use, in any number. The base's parameters are frozen. In training each adapter drops
    entries of its input, if it has a ``dropout``. Addresses: ``lora.<name>.<part>.low`` and ``.update``.
    """

    holds = "lora"

    def __init__(
        self,
        base: nn.Module,
        rank: int = 8,
        alpha: float | None = None,
        dropout: float = 0.0,
        name: str = "default",
        parts: Mapping[str, int] | None = None,
    ) -> None:
        self._expect(base)
        super().__init__(base)
        self.inputs, self.outputs = matrix_of(base).shape
        self.columns = {WHOLE: (0, self.outputs)}
        if parts:
            ends = [0, *accumulate(parts.values())]
            assert ends[-1] == self.outputs, f"parts {parts} of {self.outputs} columns"
            self.columns |= dict(zip(parts, pairwise(ends), strict=True))
        if rank:
            self.add(name, {WHOLE: LowRank(self.inputs, self.outputs, rank, alpha, dropout)})

    @staticmethod
    def _expect(base: nn.Module) -> None:
        if not is_linear(base):
            other = "use LoRAConv" if is_convolution(base) else "wrap the linear layers inside it"
            raise ValueError(f"LoRA wraps a linear layer, got {type(base).__name__}; {other}")

    def add(self, name: str, updates: Mapping[str, LowRank]) -> None:
        """One more adapter, in use from now on: an update for each of the named parts."""
        for part, update in updates.items():
            first, last = self.columns[part]
            assert (update.inputs, update.outputs) == (self.inputs, last - first)
        self.put(name, ByName(updates))

    def updates(self, name: str) -> dict[str, LowRank]:
        """The updates of an adapter by the part that they are for."""
        return {part: cast(LowRank, update) for part, update in self.held.get_submodule(name).named_children()}

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        y = base = self.base(x)
        for name in self.active:
            updates = self.updates(name)
            z = drop_entries(x, next(iter(updates.values())).dropout, self.training)
            if not self._may_join(updates, z, y):
                y = self._one_by_one(z, y, base, updates)
                continue
            y = self._joined(z, y, updates)
            for update in updates.values():
                if update.looked_at:
                    update(z)  # beside: looking does not change the output by a bit
        return y

    def equation(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        y = base = equation_of(self.base)(x)
        for name in self.active:
            y = self._one_by_one(x, y, base, self.updates(name))
        return y

    def from_products(self, times: Callable[[Tensor], Tensor]) -> Tensor | None:
        """y for an input x that no layer takes, as rows that are kept sparse: ``times(M)`` is x M.

        None where x itself is needed: some of it is dropped, or somebody listens to this layer or the one inside.
        """
        used = {name: self.updates(name) for name in self.active}
        each = [update for updates in used.values() for update in updates.values()]
        heard = any(m._forward_hooks or m._forward_pre_hooks for m in (self, self.base, *each))
        if heard or (self.training and any(update.dropout for update in each)):
            return None
        weight, bias = matrix_of(self.base), bias_of(self.base)
        product = times(weight)
        y = product if bias is None else product + bias
        for updates in used.values():
            for part, update in updates.items():
                first, last = self.columns[part]
                change = update.widen(times(update.a))
                change = update.beside(change, product[..., first:last], weight[:, first:last]).to(y.dtype)
                y = y + nn.functional.pad(change, (first, self.outputs - last))
        return y

    def _may_join(self, updates: dict[str, LowRank], x: Tensor, y: Tensor) -> bool:
        """Whether all updates of an adapter may be computed at once, in the precision of the layer."""
        return all(
            type(update) is LowRank and not update.edited and x.dtype == y.dtype == update.a.dtype
            for update in updates.values()
        )

    def _joined(self, x: Tensor, y: Tensor, updates: dict[str, LowRank]) -> Tensor:
        """y + x [A_1 A_2 …] [s_1 B_1; s_2 B_2; …], each B between zeros for the columns that are not its own."""
        a = torch.cat([update.a for update in updates.values()], -1)
        rows = []
        for part, update in updates.items():
            first, last = self.columns[part]
            rows.append(nn.functional.pad(update.b * update.scale, (first, self.outputs - last)))
        low = x.flatten(0, -2) @ a if x.ndim > 1 else x[None] @ a
        return torch.addmm(y.reshape(-1, self.outputs), low, torch.cat(rows)).view(y.shape)

    def _one_by_one(self, x: Tensor, y: Tensor, base: Tensor, updates: dict[str, LowRank]) -> Tensor:
        bias = bias_of(self.base)
        for part, update in updates.items():
            first, last = self.columns[part]
            product = base[..., first:last] if bias is None else base[..., first:last] - bias[first:last]
            delta = update.beside(update(x), product, matrix_of(self.base)[:, first:last]).to(y.dtype)
            y = y + nn.functional.pad(delta, (first, self.outputs - last))
        return y

    @torch.no_grad()
    def merged_matrix(self) -> Tensor:
        """W with the updates in use, in float64: what a layer without them would need."""
        matrix = matrix_of(self.base).double()
        merged = matrix.clone()
        for name in self.active:
            for part, update in self.updates(name).items():
                columns = slice(*self.columns[part])
                merged[:, columns] += update.change(matrix[:, columns])
        return merged

    def merged_weight(self) -> Tensor:
        """The same in the shape in which the layer has its weight."""
        return as_weight(self.base, self.merged_matrix())


def drop_entries(x: Tensor, rate: float, training: bool) -> Tensor:
    return nn.functional.dropout(x, rate) if rate and training else x
