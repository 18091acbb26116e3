r"""Bins of numbers: a line cut into a few stretches, so that a network can say how probable each of them is.

    b(x) = how many edges lie at or below x            the bin of a number
    x̂ = Σ_b p_b μ_b                                    the number that probabilities of bins expect
    Q(q) = μ_b,  b the first bin with Σ_{b' ≤ b} p_b' ≥ q      its quantiles

μ_b is the mean of the training values in bin b. Edges are quantiles, so that bins are about equally frequent, but for
values that are more frequent than that, each with a bin of its own. So a distribution can have several peaks, or a
value that is nearly always 0, which a mean and a deviation cannot tell. van den Oord et al. 2016 (pixels as classes).
Notes: N3 §2.4.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_width
from cutaway.overriding import override


def choose_edges(values: Float[Tensor, "n"], bins: int) -> Float[Tensor, "e"]:
    """Edges between about ``bins`` bins: midway between the values if these are few, else quantiles.

    A value that fills a bin by itself, as a column's many zeros, has one of its own.

    >>> choose_edges(torch.tensor([0.0, 1.0, 1.0, 4.0]), 8)
    tensor([0.5000, 2.5000])
    """
    if bins < 2:
        raise ValueError(f"bins must be above 1, got {bins}; try bins=32")
    if not len(values) or not values.isfinite().all():
        raise ValueError(
            f"edges need finite values, at least one, got {int(values.isfinite().sum())} finite of {len(values)}; "
            "leave missing ones out"
        )
    different, counts = values.unique(return_counts=True)
    if len(different) <= bins:
        return (different[1:] + different[:-1]) / 2
    frequent = counts * bins >= len(values)
    apart = torch.cat([different[frequent], different[1:][frequent[:-1]]]).unique()  # each of them, and what follows it
    rest = values[~torch.isin(values, different[frequent])].sort().values
    places = torch.linspace(0, len(rest) - 1, max(2, bins + 1 - len(apart)), dtype=torch.float64)[1:-1].round().long()
    edges = torch.cat([apart, rest[places]]).unique()
    return edges[edges > different[0]]


class NumberBins(nn.Module):
    r"""The bins of several numbers: which each number falls into, and the number that probabilities of bins expect.

        b(x) = #{edges ≤ x};  x̂ = Σ_b p_b μ_b

    ``bins`` counts those of each number. Edges and means are no parameters: `set_bins` takes them from data.
    """

    edges: Tensor
    means: Tensor

    def __init__(self, bins: Sequence[int]) -> None:
        super().__init__()
        self.bins = tuple(bins)
        if any(count < 1 for count in self.bins):
            raise ValueError(f"every number must have a bin, got bins={self.bins}; try 32 for each")
        self.register_buffer("edges", torch.zeros(sum(self.bins) - len(self.bins)))
        self.register_buffer("means", torch.zeros(sum(self.bins)))

    @torch.no_grad()
    def set_bins(self, columns: Sequence[Float[Tensor, "_"]], edges: Sequence[Float[Tensor, "_"]]) -> None:
        """Takes the edges of each number, and the means of its values between them."""
        given = tuple(len(own) + 1 for own in edges)
        if given != self.bins:
            raise ValueError(f"edges must make the bins {self.bins}, got edges for {given}; build the bins for these")
        means = []
        for values, own in zip(columns, edges, strict=True):
            place = torch.bucketize(values.contiguous(), own, right=True)
            sums = values.new_zeros(len(own) + 1).index_add(0, place, values)
            means.append(sums / torch.bincount(place, minlength=len(own) + 1).clamp(min=1))
        self.edges.copy_(torch.cat(list(edges)) if len(self.edges) else self.edges)
        self.means.copy_(torch.cat(means) if means else self.means)

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Int[Tensor, "*b i"]:
        """The bin of each number."""
        expect_width("x", x, len(self.bins))
        edges = self.edges.split([count - 1 for count in self.bins])
        found = [torch.bucketize(x[..., j].contiguous(), own, right=True) for j, own in enumerate(edges)]
        return torch.stack(found, -1) if found else x.long()

    def expected(self, p: Float[Tensor, "*b k"], number: int) -> Float[Tensor, "*b"]:
        """Σ_b p_b μ_b for the probabilities of the bins of one number."""
        return p @ self.means.split(self.bins)[number].to(p.dtype)

    def quantile(self, p: Float[Tensor, "*b k"], number: int, level: float) -> Float[Tensor, "*b"]:
        """The mean of the first bin at which the probabilities add up to ``level``."""
        place = (p.cumsum(-1) < level - 1e-6).sum(-1).clamp(max=p.shape[-1] - 1)
        return self.means.split(self.bins)[number].to(p.dtype)[place]

    @override
    def extra_repr(self) -> str:
        return f"{len(self.bins)} numbers, {sum(self.bins)} bins"


__all__ = ["NumberBins", "choose_edges"]
