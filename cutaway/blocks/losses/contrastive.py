r"""Contrastive losses: what belongs together comes near, what does not goes apart. No class needs a name.

    margin          s d² + (1 − s) max(0, m − d)²          d = ‖a − b‖;  s = 1 for a pair of one kind, else 0
    InfoNCE         −log softmax_j(cos(a_i, b_j) / τ)_i    each a must find its own b among those of all others
    retrieval       −log softmax_j(cos(a_i, b_j) / τ)_i    one way only, and among further candidates b_j, j > n
    NT-Xent         −log softmax_{k≠i}(cos(z_i, z_k) / τ)_i'   z: both views of all images; i': the other view of i
    prototypical    −log softmax_k(−‖z − c_k‖²)_y          c_k: the mean of the examples of class k

Two images through the same network make a siamese pair. With one example a class, a prototype is that example, and to
classify is to find the nearest one: one-shot classification.

Hadsell, Chopra, LeCun 2006, eq. 4 (margin); van den Oord, Li, Vinyals 2018, eq. 4, and Chen et al. 2020, eq. 1
(InfoNCE); Henderson et al. 2017, eq. 4 (retrieval); Snell, Swersky, Zemel 2017, eqs. 1–2 (prototypes). Notes: N3 §8.6.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_same_shape


def margin_loss(
    a: Float[Tensor, "n d"], b: Float[Tensor, "n d"], same: Bool[Tensor, "n"], margin: float = 1.0
) -> Float[Tensor, "n"]:
    r"""The loss of each pair: near if ``same``, else at least ``margin`` apart.

        ℓ = s d² + (1 − s) max(0, m − d)²,    d = ‖a − b‖

    >>> a, b = torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.25]])
    >>> margin_loss(a, b, torch.tensor([True, False]))
    tensor([25.0000,  0.5625])
    """
    _expect_vectors(a=a, b=b)
    expect_same_shape("a", a, "b", b)
    expect_positive(margin=margin)
    squared = (a - b).square().sum(-1)
    # √ has no slope at 0: there the pair is pushed nowhere, rather than by NaN.
    d = torch.where(squared > 0, squared, 1).sqrt() * (squared > 0)
    return torch.where(same, squared, (margin - d).clamp(min=0).square())


def info_nce(
    a: Float[Tensor, "n d"], b: Float[Tensor, "n d"], temperature: float | Float[Tensor, ""] = 0.1
) -> Float[Tensor, "n"]:
    r"""The loss of each pair (a_i, b_i) among all: a_i must find b_i, and b_i must find a_i.

        ℓ_i = ½ (−log softmax_j(s_ij)_i − log softmax_j(s_ji)_i),    s_ij = cos(a_i, b_j) / τ

    >>> info_nce(torch.eye(4), torch.eye(4), temperature=1.0)[0]  # log(1 + 3/e)
    tensor(0.7437)
    """
    _expect_vectors(a=a, b=b)
    expect_same_shape("a", a, "b", b)
    if not isinstance(temperature, Tensor):
        expect_positive(temperature=temperature)
    s = nn.functional.normalize(a, dim=-1) @ nn.functional.normalize(b, dim=-1).T / temperature
    own = torch.arange(len(a), device=a.device)
    there, back = (nn.functional.cross_entropy(logits, own, reduction="none") for logits in (s, s.T))
    return (there + back) / 2


def retrieval_loss(
    a: Float[Tensor, "n d"],
    candidates: Float[Tensor, "m d"],
    temperature: float = 0.05,
    excluded: Bool[Tensor, "n m"] | None = None,
) -> Float[Tensor, "n"]:
    r"""The loss of each a_i among all candidates, of which the i-th is its own and those beyond n are nobody's.

        ℓ_i = −log softmax_j(cos(a_i, b_j) / τ)_i

    ``excluded`` marks candidates that do not count for some a_i, as they are as right as its own: the same text again.

    >>> retrieval_loss(torch.eye(2), torch.eye(2), temperature=1.0)[0]  # log(1 + 1/e)
    tensor(0.3133)
    """
    _expect_vectors(a=a, candidates=candidates)
    expect_positive(temperature=temperature)
    if len(candidates) < len(a) or candidates.shape[1] != a.shape[1]:
        raise ValueError(
            f"each of {len(a)} vectors needs a candidate of its own, as wide as itself, got {tuple(candidates.shape)} "
            f"for {tuple(a.shape)}; give at least as many candidates"
        )
    s = nn.functional.normalize(a, dim=-1) @ nn.functional.normalize(candidates, dim=-1).T / temperature
    if excluded is not None:
        s = s.masked_fill(excluded, -torch.inf)
    return nn.functional.cross_entropy(s, torch.arange(len(a), device=a.device), reduction="none")


def nt_xent(
    a: Float[Tensor, "n d"], b: Float[Tensor, "n d"], temperature: float | Float[Tensor, ""] = 0.2
) -> Float[Tensor, "n"]:
    r"""The loss of each pair of views (a_i, b_i): each must find the other among all other views, of both kinds.

        ℓ_i = ½ (ℓ(a_i, b_i) + ℓ(b_i, a_i)),   ℓ(z_i, z_j) = −log exp(s_ij) / Σ_{k≠i} exp(s_ik),   s = cos(z, z) / τ

    It is InfoNCE with the views of the same kind as further others. Chen et al. 2020, eq. 1.

    >>> nt_xent(torch.eye(2), torch.eye(2), temperature=1.0)[0]  # log(1 + 2/e)
    tensor(0.5514)
    """
    _expect_vectors(a=a, b=b)
    expect_same_shape("a", a, "b", b)
    if not isinstance(temperature, Tensor):
        expect_positive(temperature=temperature)
    z = nn.functional.normalize(torch.cat([a, b]), dim=-1)
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    s = (z @ z.T / temperature).masked_fill(itself, -torch.inf)
    other = torch.arange(len(z), device=z.device).roll(len(a))
    return nn.functional.cross_entropy(s, other, reduction="none").view(2, -1).mean(0)


def prototypes(z: Float[Tensor, "n d"], labels: Int[Tensor, "n"], classes: int | None = None) -> Float[Tensor, "k d"]:
    r"""The mean vector of each class, 0 to ``classes`` − 1.

        c_k = mean of the z_i with label k

    >>> prototypes(torch.tensor([[0.0], [2.0], [5.0]]), torch.tensor([0, 0, 1]))
    tensor([[1.],
            [5.]])
    """
    _expect_vectors(z=z)
    classes = int(labels.max()) + 1 if classes is None else classes
    sums = z.new_zeros(classes, z.shape[1]).index_add(0, labels, z)
    counts = torch.bincount(labels, minlength=classes)
    return sums / counts.clamp(min=1)[:, None].to(z)


def prototypical_loss(
    z: Float[Tensor, "n d"], labels: Int[Tensor, "n"], centres: Float[Tensor, "k d"]
) -> Float[Tensor, "n"]:
    r"""The loss of each vector: the centre of its class must be the nearest.

        ℓ_i = −log softmax_k(−‖z_i − c_k‖²)_y

    >>> prototypical_loss(torch.tensor([[0.0]]), torch.tensor([0]), torch.tensor([[0.0], [1.0]]))  # log(1 + 1/e)
    tensor([0.3133])
    """
    _expect_vectors(z=z, centres=centres)
    return nn.functional.cross_entropy(-squared_distances(z, centres), labels, reduction="none")


def squared_distances(a: Float[Tensor, "n d"], b: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    r"""‖a_i − b_j‖² = ‖a_i‖² − 2 a_i · b_j + ‖b_j‖², one product."""
    return a.square().sum(-1)[:, None] - 2 * a @ b.T + b.square().sum(-1)


def _expect_vectors(**vectors: Tensor) -> None:
    for name, x in vectors.items():
        expect_float(name, x)
        if x.ndim != 2:
            raise ValueError(f"{name} must have shape (n, width), got {tuple(x.shape)}; one vector a row")


__all__ = [
    "info_nce",
    "margin_loss",
    "nt_xent",
    "prototypes",
    "prototypical_loss",
    "retrieval_loss",
    "squared_distances",
]
