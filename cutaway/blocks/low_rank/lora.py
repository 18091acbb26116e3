r"""LoRA wraps a frozen linear layer: what it computes, and low-rank updates beside it.

    y = x W + b + Σ_n (α_n / r_n) x A_n B_n         over the adapters n in use

Where W = [W_Q W_K W_V] holds several maps, an update may be for one of them: it is added to those columns of y alone.
Hu et al. 2022. Notes: N3 §8 (fine-tuning).
"""

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.low_rank.linear_layers import bias_of, is_linear, matrix_of
from cutaway.blocks.low_rank.updates import LowRank
from cutaway.inside.quiet import equation_of

WHOLE = "whole"  # the name of an update for all columns


class ByName(nn.Module):
    """Modules by name. (torch.nn.ModuleDict has names of its own, and refuses "keys" and "values".)"""

    def __init__(self, modules: Mapping[str, nn.Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __len__(self) -> int:
        return len(self._modules)


class LoRA(nn.Module):
    """y = x W + b + Σ (α / r) x A B: ``LoRA(linear, rank=8)``; more adapters join by `add`.

    ``parts`` are the names and sizes of the maps side by side in the base, where it holds several. ``active`` are the
    names of the adapters in use, in any number. The base's parameters are frozen. In training each adapter drops
    entries of its input, if it has a ``dropout``. Addresses: ``lora.<name>.<part>.low`` and ``.update``.
    """

    wraps = "base"  # what the layer is called stands for both

    def __init__(
        self,
        base: nn.Module,
        rank: int = 8,
        alpha: float | None = None,
        dropout: float = 0.0,
        name: str = "default",
        parts: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        if not is_linear(base):
            raise ValueError(f"LoRA wraps a linear layer, got {type(base).__name__}; wrap the linear layers inside it")
        self.base = base.requires_grad_(False)
        self.inputs, self.outputs = matrix_of(base).shape
        self.columns = {WHOLE: (0, self.outputs)}
        if parts:
            ends = [0, *accumulate(parts.values())]
            assert ends[-1] == self.outputs, f"parts {parts} of {self.outputs} columns"
            self.columns |= dict(zip(parts, pairwise(ends), strict=True))
        self.lora = ByName()
        self.active: tuple[str, ...] = ()
        if rank:
            self.add(name, {WHOLE: LowRank(self.inputs, self.outputs, rank, alpha, dropout)})
        _keep_names(self)

    def add(self, name: str, updates: Mapping[str, LowRank]) -> None:
        """One more adapter, in use from now on: an update for each of the named parts."""
        for part, update in updates.items():
            first, last = self.columns[part]
            assert (update.inputs, update.outputs) == (self.inputs, last - first)
            update.train(self.training)
        self.lora.add_module(name, ByName(updates))
        self.active = (*self.active, name)

    def updates(self, name: str) -> dict[str, LowRank]:
        """The updates of an adapter by the part that they are for."""
        return {part: cast(LowRank, update) for part, update in self.lora.get_submodule(name).named_children()}

    def remove(self, name: str) -> None:
        """Takes an adapter off."""
        delattr(self.lora, name)
        self.active = tuple(other for other in self.active if other != name)

    def choose(self, names: Iterable[str]) -> None:
        """The adapters in use, which alone can be trained, are those of these names that it has."""
        self.active = tuple(name for name in names if name in self.lora)
        for name, updates in self.lora.named_children():
            updates.requires_grad_(name in self.active)

    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        y = self.base(x)
        for name in self.active:
            updates = self.updates(name)
            z = _drop(x, next(iter(updates.values())).dropout, self.training)
            if not self._may_join(updates, z, y):
                y = self._one_by_one(z, y, updates)
                continue
            y = self._joined(z, y, updates)
            for update in updates.values():
                if update.looked_at:
                    update(z)  # beside: looking does not change the output by a bit
        return y

    def equation(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        y = equation_of(self.base)(x)
        for name in self.active:
            y = self._one_by_one(x, y, self.updates(name))
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
        return torch.addmm(y.view(-1, self.outputs), low, torch.cat(rows)).view(y.shape)

    def _one_by_one(self, x: Tensor, y: Tensor, updates: dict[str, LowRank]) -> Tensor:
        for part, update in updates.items():
            first, last = self.columns[part]
            delta = update(x).to(y.dtype)
            y = y + nn.functional.pad(delta, (first, self.outputs - last))
        return y

    @property
    def weight(self) -> Tensor:
        """The base's weight, as it is stored, without the updates."""
        return cast(Tensor, self.base.weight)

    @property
    def bias(self) -> Tensor | None:
        return bias_of(self.base)

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

    def extra_repr(self) -> str:
        return f"in use: {', '.join(self.active) or 'none'}"


def _drop(x: Tensor, rate: float, training: bool) -> Tensor:
    return nn.functional.dropout(x, rate) if rate and training else x


def _keep_names(wrapper: nn.Module) -> None:
    """In a state dict the base's tensors keep their names, so that those of the model without adapters fit in."""
    wrapper._register_state_dict_hook(_without_base)
    wrapper.register_load_state_dict_pre_hook(_with_base)


def _without_base(module: nn.Module, state: dict[str, Tensor], prefix: str, _: object) -> None:
    inner = f"{prefix}base."
    for name in [name for name in state if name.startswith(inner)]:
        state[prefix + name.removeprefix(inner)] = state.pop(name)


def _with_base(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    own = tuple(f"{prefix}{child}." for child in module._modules)
    for name in [name for name in state if name.startswith(prefix) and not name.startswith(own)]:
        state[f"{prefix}base." + name.removeprefix(prefix)] = state.pop(name)
