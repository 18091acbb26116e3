r"""Bags of features, each weighed by how much more often it comes with a class than without it.

    r_fc = log (n_fc + α)/(N_c + αF) − log (m_fc + α)/(M_c + αF)        log-count ratio of feature f and class c
    s_c = b_c + Σ_{f ∈ x} a_f r_fc w_fc                                 logits of an example with features x

n_fc counts the examples of class c that have feature f, m_fc those of all other classes; N_c, M_c are their sums over
the F features. With w = 1 this is naive Bayes (McCallum, Nigam 1998, each feature counted once an example). Where w is
learned it is the NB-weighted linear model of Wang, Manning 2012, hard to beat on short texts. a_f is a fixed strength.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def log_count_ratios(counts: Float[Tensor, "f c"], smoothing: float = 1.0) -> Float[Tensor, "f c"]:
    """r = log (n + α)/(N + αF) − log (m + α)/(M + αF), from the counts n of each feature with each class.

    >>> log_count_ratios(torch.tensor([[3.0, 0.0], [1.0, 4.0]])).exp()  # 4/6 : 1/6, and 2/6 : 5/6
    tensor([[4.0000, 0.2500],
            [0.4000, 2.5000]])
    """
    expect_positive(smoothing=smoothing)
    others = counts.sum(1, keepdim=True) - counts
    n, m = counts + smoothing, others + smoothing
    return (n / n.sum(0)).log() - (m / m.sum(0)).log()


def sum_bag(features: Int[Tensor, "*b n"], table: Float[Tensor, "f c"]) -> Float[Tensor, "*b c"]:
    """Σ_{f ∈ x} table_f: the sum of the rows of an example's features; id 0 stands for none.

    >>> sum_bag(torch.tensor([[1, 2, 0], [2, 0, 0]]), torch.tensor([[9.0], [1.0], [10.0]]))
    tensor([[11.],
            [10.]])
    """
    if features.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"features must be ids, whole numbers, got {features.dtype}; convert them with .long()")
    if not features.numel():
        return table.new_zeros(*features.shape[:-1], table.shape[1])
    rows = features.reshape(-1, features.shape[-1])
    sums = nn.functional.embedding_bag(rows, table, mode="sum", padding_idx=0)
    return sums.view(*features.shape[:-1], table.shape[1])


class NaiveBayesBag(nn.Module):
    """s_c = b_c + Σ_{f ∈ x} a_f r_fc w_fc, with ratios r from `set_counts` and learned w; id 0 stands for none.

    Before counts are set, r and a are 1: a bag of learned weights. w begins at ``start``, so that the model begins as a
    naive Bayes of lower confidence. Tap: ``output``.
    """

    ratios: Tensor

    def __init__(self, features: int, classes: int, start: float = 0.05) -> None:
        super().__init__()
        expect_positive(features=features, classes=classes)
        self.features, self.classes, self.start = features, classes, start
        self.register_buffer("ratios", torch.ones(features, classes))
        self.weight = nn.Parameter(torch.empty(features, classes))
        self.bias = nn.Parameter(torch.empty(classes))
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.constant_(self.weight, self.start)
        nn.init.zeros_(self.bias)

    @torch.no_grad()
    def set_counts(self, counts: Float[Tensor, "f c"], strength: Float[Tensor, "f"] | None = None) -> None:
        """Takes a_f r_fc from the counts of the training examples; row 0, which stands for none, counts nothing."""
        ratios = torch.zeros_like(self.ratios)
        ratios[1:] = log_count_ratios(counts[1:].to(ratios)) * (1.0 if strength is None else strength[1:, None])
        self.ratios.copy_(ratios)

    @override
    def forward(self, features: Int[Tensor, "*b n"]) -> Float[Tensor, "*b c"]:
        s = self.bias + sum_bag(features, self.ratios * self.weight)
        if self.output.live:
            s = self.output(s)
        return s

    @override
    def extra_repr(self) -> str:
        return f"{self.features} features → {self.classes} classes"


__all__ = ["NaiveBayesBag", "log_count_ratios", "sum_bag"]
