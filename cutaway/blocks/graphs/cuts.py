r"""How well a partition of the vertices cuts a graph: the weight between its parts, beside their sizes.

    W(S, S̄) = Σ_{i in S, j not in S} a_ij          the weight that leaves a part S
    ratio cut       Σ_k W(S_k, S̄_k) / |S_k|         |S|: its number of vertices
    normalised cut  Σ_k W(S_k, S̄_k) / vol(S_k)      vol(S): the sum of their degrees
    modularity      Σ_k ((vol(S_k) − W(S_k, S̄_k))/vol − (vol(S_k)/vol)²)      vol: the sum of all degrees

With H_ik = 1/√|S_k| for i in S_k, the ratio cut is tr(HᵀLH): it is never below the sum of the K smallest eigenvalues
of L, since the columns of H are orthonormal (Ky Fan), and spectral clustering takes the eigenvectors in place of H.
Hagen, Kahng 1992; Shi, Malik 2000; von Luxburg 2007, §5, who halves both; Newman, Girvan 2004, eq. 5 (modularity: the
share of edges inside parts, less what it would be were edges drawn by degrees alone). Notes: N3 §7.4.3.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.graphs.laplacian import degrees, laplacian


def cut_weights(adjacency: Tensor, clusters: Int[Tensor, "n"], parts: int | None = None) -> Float[Tensor, "k"]:
    """W(S_k, S̄_k) of every part: f_kᵀLf_k of its indicator f_k; clusters are numbered from 0, ``parts`` how many.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> cut_weights(path, torch.tensor([0, 0, 1]))
    tensor([1., 1.])
    """
    indicators = _indicators(adjacency, clusters, parts)
    return (indicators * (laplacian(adjacency) @ indicators)).sum(0)


def ratio_cut(adjacency: Tensor, clusters: Int[Tensor, "n"], parts: int | None = None) -> Float[Tensor, ""]:
    """Σ_k W(S_k, S̄_k) / |S_k|: small for few edges between parts of like size.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> ratio_cut(path, torch.tensor([0, 0, 1]))  # 1/2 + 1/1
    tensor(1.5000)
    """
    sizes = _indicators(adjacency, clusters, parts).sum(0)
    return _divided(cut_weights(adjacency, clusters, parts), sizes)


def normalised_cut(adjacency: Tensor, clusters: Int[Tensor, "n"], parts: int | None = None) -> Float[Tensor, ""]:
    """Σ_k W(S_k, S̄_k) / vol(S_k): small for few edges between parts that hold many.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> normalised_cut(path, torch.tensor([0, 0, 1]))  # 1/3 + 1/1
    tensor(1.3333)
    """
    volumes = _indicators(adjacency, clusters, parts).T @ degrees(adjacency)
    return _divided(cut_weights(adjacency, clusters, parts), volumes)


def modularity(adjacency: Tensor, clusters: Int[Tensor, "n"], parts: int | None = None) -> Float[Tensor, ""]:
    """Σ_k ((vol_k − W_k)/vol − (vol_k/vol)²): large for parts that hold more edges than by chance; 0 for one part.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> modularity(path, torch.tensor([0, 0, 1]))  # (3 − 1)/4 − 9/16 + (1 − 1)/4 − 1/16
    tensor(-0.1250)
    """
    volumes = _indicators(adjacency, clusters, parts).T @ degrees(adjacency)
    total = volumes.sum()
    total = torch.where(total > 0, total, 1)
    return ((volumes - cut_weights(adjacency, clusters, parts)) / total - (volumes / total).square()).sum()


def _indicators(adjacency: Tensor, clusters: Tensor, parts: int | None) -> Tensor:
    """f_k of every part as columns: 1 for its vertices, else 0."""
    if clusters.shape != adjacency.shape[:1] or clusters.dtype.is_floating_point:
        raise ValueError(
            f"clusters must be one whole number a vertex, got shape {tuple(clusters.shape)} of {clusters.dtype} for "
            f"{adjacency.shape[0]} vertices; number the parts from 0"
        )
    if parts is None:
        parts = int(clusters.max()) + 1 if clusters.numel() else 0
    if clusters.numel() and not torch.compiler.is_compiling():
        low, high = int(clusters.min()), int(clusters.max())
        if low < 0 or high >= parts:
            raise ValueError(
                f"clusters must be numbered from 0 to {parts - 1}, got {low} to {high}; give every vertex a part"
            )
    rows = torch.zeros(clusters.shape[0], parts, dtype=adjacency.dtype, device=adjacency.device)
    return rows.scatter(1, clusters.long()[:, None], 1)


def _divided(weights: Tensor, sizes: Tensor) -> Tensor:
    """Σ_k W_k / size_k; a part that nothing leaves adds nothing, even an empty one."""
    return torch.where(weights > 0, weights / torch.where(sizes > 0, sizes, 1), 0).sum()


__all__ = ["cut_weights", "modularity", "normalised_cut", "ratio_cut"]
