r"""Dynamic time warping: the distance of two series that may run at different speeds.

    D_ij = (x_i − y_j)² + min(D_{i−1,j−1}, D_{i−1,j}, D_{i,j−1})        DTW(x, y) = √D_nm

Every step of one series is matched with one or several of the other, in order; of all such matchings the cheapest is
taken. A window allows only |i − j| ≤ window. Entries of one antidiagonal of D do not depend on each other, so they are
computed together, for all pairs of a batch. Sakoe, Chiba 1978. Notes: N3 §5.1 (series classification).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width


def time_warping_distance(
    x: Float[Tensor, "*b n c"], y: Float[Tensor, "*b m c"], window: int | None = None
) -> Float[Tensor, "*b"]:
    r"""DTW(x, y) of series of c channels; ``window`` is the most steps that a match may lie apart.

    >>> slow = torch.tensor([0.0, 0.0, 1.0, 1.0, 2.0])[:, None]
    >>> fast = torch.tensor([0.0, 1.0, 2.0])[:, None]
    >>> time_warping_distance(slow, fast)
    tensor(0.)
    """
    expect_float("x", x)
    expect_width("y", y, x.shape[-1])
    n, m = x.shape[-2], y.shape[-2]
    if not n or not m:
        raise ValueError(f"series must have a step, got {n} and {m}; leave empty ones out")
    if window is not None and window < abs(n - m):
        raise ValueError(
            f"window must be at least the difference in length, got window={window} for {n} and {m} steps; "
            f"try window={abs(n - m)}"
        )
    # Row i of `skewed` holds (x_i − y_{d−i})² at column d: an antidiagonal of the costs becomes a column.
    costs = (x[..., :, None, :] - y[..., None, :, :]).square().sum(-1)
    rows = torch.arange(n, device=x.device)
    before = x.new_full((*costs.shape[:-2], n + 1), torch.inf)  # antidiagonal d − 2, behind a border of ∞
    last = before.clone()
    for d in range(n + m - 1):
        columns = d - rows
        inside = (columns >= 0) & (columns < m)
        if window is not None:
            inside = inside & ((rows - columns).abs() <= window)
        here = costs[..., rows, columns.clamp(0, m - 1)]
        if d:
            best = torch.minimum(torch.minimum(before[..., :-1], last[..., :-1]), last[..., 1:])
            here = here + best
        here = torch.where(inside, here, torch.inf)
        before, last = last, torch.nn.functional.pad(here, (1, 0), value=torch.inf)
    # A root of 0 has no slope: equal series pass none.
    total = last[..., -1]
    return torch.where(total > 0, total.clamp_min(torch.finfo(total.dtype).tiny).sqrt(), 0)


__all__ = ["time_warping_distance"]
