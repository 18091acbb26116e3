r"""Adapters of peft whose base was changed when they were put onto it: what was taken off it then.

    peft begins with      W ← W − s B₀ A₀,    A ← A₀,  B ← B₀           so that nothing changes at first
    and computes          (W − s B₀ A₀) + s B A = W + s [B  −B₀] [A; A₀]      here: one update of twice the rank

    PiSSA       s B₀ A₀ = Σ_{i ≤ r} σ_i u_i v_iᵀ      the largest singular values of W (Meng et al. 2024)
    OLoRA       B₀ A₀ = Q_{:, :r} R_{:r}              of W = Q R (Büyükakyüz 2024)

Both follow from W alone. Other beginnings do not: they depend on data, on gradients or on random numbers that no file
has. Adapters of those are refused; peft can write any of them as a plain LoRA.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

PISSA, OLORA = "pissa", "olora"
_PLAIN = (True, False, None, "true", "gaussian", "eva", "orthogonal", "mica")  # which leave the base as it is
_SURE = 1e-3  # the share of ‖W‖ by which rounding may move what was taken off


def expect_known_start(config: dict[str, Any]) -> str:
    """Which beginning is taken off the base: "pissa", "olora" or "" for none; others are refused."""
    start = config.get("init_lora_weights", True)
    name = start.lower() if isinstance(start, str) else start
    if any(name is plain or (isinstance(name, str) and name == plain) for plain in _PLAIN):
        return ""
    if name in (PISSA, OLORA):
        return str(name)
    raise ValueError(
        f"init_lora_weights must be one whose base follows from the checkpoint alone (true, gaussian, eva, orthogonal, "
        f"mica, pissa, olora), got {start!r}, which changed the base by data or random numbers that are not in the "
        "file; save it as a plain LoRA: peft's save_pretrained(…, path_initial_model_for_weight_conversion=…)"
    )


@torch.no_grad()
def taken_off(
    start: str, weight: Float[Tensor, "i o"], rank: int, scale: float, turned: bool, module: str
) -> tuple[Float[Tensor, "i r"], Float[Tensor, "r o"]]:
    """A₀ and B₀ as ours are, for a matrix W of which rows are inputs: what the base lacks is scale · A₀ B₀.

    ``turned`` says that the checkpoint has the matrix as (inputs, outputs), which OLoRA takes as it is.
    """
    w = weight.detach().double().cpu()
    if start == OLORA:
        q, r = torch.linalg.qr(w if turned else w.T)
        return (q[:, :rank], r[:rank]) if turned else (r[:rank].T, q[:, :rank].T)
    # The eigenvectors of the smaller of W Wᵀ and Wᵀ W: in float64 as exact as singular vectors in float32, and faster.
    wide = w.shape[0] <= w.shape[1]
    squares, vectors = torch.linalg.eigh(w @ w.T if wide else w.T @ w)
    _expect_gap(squares.flip(0).clamp(min=0).sqrt(), rank, module)
    top = vectors[:, -rank:]
    rest = (top.T @ w if wide else w @ top) / scale
    return (top, rest) if wide else (rest, top.T)


def _expect_gap(sizes: Float[Tensor, "n"], rank: int, module: str) -> None:
    """Where two singular values are equal, which of them were taken follows from rounding alone."""
    if rank >= len(sizes) or float(sizes[0]) == 0:
        return
    gap, eps = float(sizes[rank - 1] - sizes[rank]), torch.finfo(torch.float32).eps
    turn = min(1.0, eps * math.sqrt(len(sizes)) * float(sizes[0]) / gap) if gap else 1.0
    if turn * float(sizes[rank - 1]) > _SURE * float(sizes[0]):
        raise ValueError(
            f"PiSSA takes the {rank} largest singular values off the base, got {module}, where numbers {rank} and "
            f"{rank + 1} are equal ({float(sizes[rank]):.4g}), so that the file does not say which; save it as a plain "
            "LoRA: peft's save_pretrained(…, path_initial_model_for_weight_conversion=…)"
        )


def doubled_alpha(alpha: float, rooted: bool) -> float:
    """α for twice the rank at the same scale.

    >>> doubled_alpha(8, False), round(doubled_alpha(8, True), 3)
    (16, 11.314)
    """
    return alpha * (math.sqrt(2) if rooted else 2)


__all__ = ["OLORA", "PISSA", "doubled_alpha", "expect_known_start", "taken_off"]
