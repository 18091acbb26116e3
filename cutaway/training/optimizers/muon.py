r"""Muon is an optimizer for the weight matrices inside a network: momentum, with every step made orthogonal.

    v ← μ v + (1 − μ) g                 momentum
    u = μ v + (1 − μ) g                 Nesterov's look ahead
    O = NewtonSchulz(u) ≈ U Vᵀ          u = U S Vᵀ with its singular values set to about 1
    W ← (1 − ηλ) W − η √max(1, o/i) O   W maps i inputs to o outputs

All directions of a matrix are learned at one speed, where Adam's step is dominated by a few. Jordan et al. 2024, also
for the scale √max(1, o/i): whatever the shape, a step changes outputs by about η for inputs of size 1 (compare Yang,
Simon & Bernstein 2023). Liu et al. 2025 take 0.2 √max(i, o), to be used with AdamW's rates; this one wants rates near
0.02. Notes: N3 §3.4.4 has momentum.

torch.optim.Muon is the same equation, and its state fits ours. But it orthogonalises in bfloat16, one by one, which a
CPU without bfloat16 units does hundreds of times slower: here it is float32, batched over matrices of one shape.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from cutaway.blocks.checks import expect_positive
from cutaway.overriding import override

# The quintic a x + b x³ + c x⁵ that takes every singular value in (0, 1] to about 1 in five steps; Jordan et al. 2024.
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalise(matrices: Float[Tensor, "*b r c"], steps: int = 5) -> Float[Tensor, "*b r c"]:
    """X ← a X + (b X Xᵀ + c (X Xᵀ)²) X, ``steps`` times, from X / ‖X‖: singular values all near 1.

    In five steps those above 1/500 of the norm come to lie between 0.68 and 1.21, smaller ones rise 485-fold.
    """
    if matrices.ndim < 2:
        raise ValueError(f"only matrices can be made orthogonal, got shape {tuple(matrices.shape)}; normalise a vector")
    wide = matrices.shape[-2] <= matrices.shape[-1]
    X = matrices if wide else matrices.mT  # the smaller product
    X = X.to(torch.promote_types(X.dtype, torch.float32)).reshape(-1, *X.shape[-2:])
    X = X / X.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        G = X @ X.mT
        X = torch.baddbmm(X, torch.baddbmm(G, G, G, beta=B, alpha=C), X, beta=A)  # a X + (b G + c G²) X
    X = X if wide else X.mT
    return X.reshape(matrices.shape).to(matrices.dtype)


class Muon(Optimizer):
    """Muon for matrices; everything else (embeddings, norms, biases, output layers) belongs to AdamW.

    A parameter group may say ``axis``, the one that runs over the outputs: −1 for matrices that are used as x W, 0 for
    those of torch.nn.Linear. And ``parts``: a number of equal blocks of outputs, or the size of each, that are matrices
    of their own (fused queries, keys and values) and are made orthogonal each by itself, as Jordan et al. advise.
    """

    rate_name = "muon_rate"  # of its learning rate, in recipes and metrics

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        steps: int = 5,
    ) -> None:
        expect_positive(lr=lr, steps=steps)
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum must be from 0 to below 1, got {momentum}; try momentum=0.95")
        if not weight_decay >= 0:
            raise ValueError(f"weight_decay must be 0 or above, got {weight_decay}; try weight_decay=0.1")
        plain = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "steps": steps, "axis": -1, "parts": 1}
        super().__init__(params, plain)

    @override
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in group["params"]:
            if hasattr(p, "device_mesh"):
                refuse_shares()
            if p.ndim != 2 or not _falls_into(group["parts"], p.shape[group["axis"]]):
                del self.param_groups[-1]
                raise ValueError(
                    f"Muon takes matrices whose outputs fall into parts={group['parts']}, got shape {tuple(p.shape)} "
                    f"with outputs along axis {group['axis']}; give other parameters to AdamW"
                )

    @override
    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            learned = [p for p in group["params"] if p.grad is not None]
            if not learned:
                continue
            if group["weight_decay"]:
                torch._foreach_mul_(learned, 1 - group["lr"] * group["weight_decay"])
            self._descend(group, learned, self._look_ahead(learned, group["momentum"]))
        return loss

    def _look_ahead(self, learned: list[Tensor], mu: float) -> list[Tensor]:
        """The momentum v of each, brought up to date, and the direction u that it gives."""
        for p in learned:
            if "momentum_buffer" not in self.state[p]:  # the name that torch.optim gives v
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        v = [self.state[p]["momentum_buffer"] for p in learned]
        g = [p.grad for p in learned if p.grad is not None]
        torch._foreach_lerp_(v, g, 1 - mu)
        return list(torch._foreach_lerp(g, v, mu))

    def _descend(self, group: dict[str, Any], learned: list[Tensor], directions: list[Tensor]) -> None:
        alike: dict[Any, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for p, u in zip(learned, directions, strict=True):
            sizes = _sizes(group["parts"], p.shape[group["axis"]])
            for w, d in zip(p.split(sizes, group["axis"]), u.split(sizes, group["axis"]), strict=True):
                if group["axis"] == 0:
                    w, d = w.mT, d.mT
                alike[d.shape, d.dtype, d.device].append((w, d))
        for ((inputs, outputs), _, _), pairs in alike.items():
            O = orthogonalise(torch.stack([d for _, d in pairs]), group["steps"])
            rate = group["lr"] * max(1.0, outputs / inputs) ** 0.5
            for (w, _), o in zip(pairs, O, strict=True):
                w.sub_(o, alpha=rate)


def refuse_shares() -> NoReturn:
    """A process that holds a part of a matrix cannot make the whole orthogonal."""
    raise ValueError(
        "Muon takes whole matrices, got the shares of them that strategy=fsdp leaves to a process; "
        "use --optimizer adamw, or --strategy ddp"
    )


def _sizes(parts: int | list[int] | tuple[int, ...], outputs: int) -> list[int]:
    return [outputs // parts] * parts if isinstance(parts, int) else list(parts)  # JSON makes lists of tuples


def _falls_into(parts: int | list[int] | tuple[int, ...], outputs: int) -> bool:
    if isinstance(parts, int):
        return parts > 0 and outputs % parts == 0
    return sum(parts) == outputs and all(n > 0 for n in parts)
