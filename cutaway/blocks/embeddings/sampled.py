r"""Output layers that compare the right class y with a few sampled ones, instead of with all.

    sampled softmax      L = −log [ e^{s_y} / (e^{s_y} + Σ_j e^{s_j} / (m q_j)) ]        importance weights 1/(m q_j)
    NCE                  L = −log σ(s_y − log k q_y) − Σ_j log σ(−(s_j − log k q_j))     the right class, or noise?
    negative sampling    L = −log σ(s_y) − Σ_j log σ(−s_j)                               the same, q left out

The j are k or m classes drawn from a proposal q, and s_c = z·w_c + b_c. What they are in relation to the full softmax:

- *Sampled softmax* estimates its loss. The estimate is biased, by less the more samples there are, and by nothing where
  q is the model's own distribution. Samples that hit y are taken out, and m and q are those of the other classes.
- *NCE* learns to tell the data from noise. Its gradient tends to that of the likelihood as k grows, for scores that
  are logarithms of probabilities; the model learns by itself to make them so.
- *Negative sampling* has another objective. Its best scores are not log p(c | z) but log p(c | z) − log q_c − log k:
  with q the frequencies of the classes, the pointwise mutual information less log k.

Bengio and Senécal 2003, 2008; Jean et al. 2015; Blanc and Rendle 2018, theorem 2.1 (sampled softmax). Gutmann and
Hyvärinen 2010; Mnih and Teh 2012 (NCE). Mikolov et al. 2013; Levy and Goldberg 2014 (negative sampling). word2vec's
program leaves out negatives that hit y, which we keep: without them the best score is another one. Notes: N3 §4.4.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Integer, Shaped
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, flat_targets
from cutaway.blocks.embeddings.output_layers import (
    ClassVectors,
    expect_vectors,
    in_float32,
    log_softmax,
    look_up,
    row_scores,
)
from cutaway.blocks.embeddings.proposals import Proposal, as_proposal
from cutaway.overriding import override


def sampled_softmax_loss(
    target: Float[Tensor, "b"],
    samples: Float[Tensor, "b m"],
    log_q: Float[Tensor, "#b m"],
    hits: Bool[Tensor, "b m"],
    log_rest: Float[Tensor, "b"],
) -> Float[Tensor, "b"]:
    r"""The softmax loss of the target's score among the samples' scores, each weighted as if all classes were there.

        L = −log [ e^{s_y} / (e^{s_y} + Σ_{j: no hit} e^{s_j} / (m′ q_j / (1 − q_y))) ]

    Of m samples m′ are no ``hits`` of the target. ``log_rest`` is log(1 − q_y): the others come from
    q_j / (1 − q_y).
    """
    left = (~hits).sum(1, keepdim=True).clamp(min=1)
    weighted = samples - (log_q - log_rest[:, None] + left.log())
    among = torch.cat([target[:, None], weighted.masked_fill(hits, -math.inf)], 1)
    return -among.log_softmax(1)[:, 0]


def nce_loss(
    target: Float[Tensor, "b"],
    samples: Float[Tensor, "b k"],
    target_log_q: Float[Tensor, "b"],
    samples_log_q: Float[Tensor, "#b k"],
) -> Float[Tensor, "b"]:
    r"""The loss of telling the target from k samples of noise, for scores that are logarithms of probabilities.

    L = −log σ(s_y − log k q_y) − Σ_j log σ(−(s_j − log k q_j))
    """
    log_k = math.log(samples.shape[1])
    return negative_sampling_loss(target - log_k - target_log_q, samples - log_k - samples_log_q)


def negative_sampling_loss(target: Float[Tensor, "b"], samples: Float[Tensor, "b k"]) -> Float[Tensor, "b"]:
    r"""The loss of a yes for the target and a no for each sample.

        L = −log σ(s_y) − Σ_j log σ(−s_j)

    >>> negative_sampling_loss(torch.zeros(1), torch.zeros(1, 3))  # 4 log 2
    tensor([2.7726])
    """
    sigmoid = nn.functional.logsigmoid
    return -sigmoid(target) - sigmoid(-samples).sum(1)


class _Sampling(ClassVectors):
    """What the three share: vectors of the classes, a proposal, and the scores of the target and of the samples."""

    def __init__(
        self,
        width: int,
        classes: int,
        samples: int,
        proposal: str | Proposal | Shaped[Tensor, "c"] | None,
        counts: Sequence[float] | Shaped[Tensor, "c"] | None,
        shared: bool,
        bias: bool,
        sparse: bool,
    ) -> None:
        super().__init__(width, classes, bias, sparse)
        expect_positive(samples=samples)
        self.samples, self.shared = samples, shared
        if counts is not None and len(counts) != classes:
            raise ValueError(
                f"counts must be one for each of the {classes} classes, got {len(counts)}; count all classes"
            )
        if proposal is None:
            proposal = "uniform" if counts is None else "unigram"
        self.proposal = as_proposal(proposal, classes, counts)

    def _sampled_scores(self, z: Tensor, y: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of the targets (b,) and of the samples (b, m), and the samples, (m,) if ``shared``, else (b, m)."""
        if self.shared:
            drawn = self.proposal.draw(self.samples, generator=generator)
            s = z @ look_up(self.weight, drawn, self.sparse).T
            if self.bias is not None:
                s = s + look_up(self.bias, drawn, self.sparse)
            s = torch.cat([row_scores(z, self.weight, self.bias, y[:, None], self.sparse), s], 1)
        else:
            drawn = self.proposal.draw(len(y), self.samples, generator=generator)
            s = row_scores(z, self.weight, self.bias, torch.cat([y[:, None], drawn], 1), self.sparse)
        s = in_float32(s)
        if self.scores.live:
            s = self.scores(s)
        return s[:, 0], s[:, 1:], drawn

    @override
    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.samples} samples{' for all' if self.shared else ''}"


class SampledSoftmax(_Sampling):
    r"""The softmax over the right class and ``samples`` others, weighted so that they stand for all.

        L = −log [ e^{s_y} / (e^{s_y} + Σ_j e^{s_j} / (m q_j)) ]

    ``proposal`` is "uniform", "log_uniform", "unigram" (the default if there are ``counts``), a `Proposal` or its
    weights; it can be set anew while training, ``layer.proposal.set_weights(…)``. With ``shared`` one draw serves a
    whole batch, in one product. With ``sparse`` gradients hold the touched rows alone, for torch.optim.SGD or
    SparseAdam. Predictions are those of the full softmax. Tap: ``scores`` (of all classes; in ``losses``, of the target
    and the samples).
    """

    def __init__(
        self,
        width: int,
        classes: int,
        samples: int = 64,
        proposal: str | Proposal | Shaped[Tensor, "c"] | None = None,
        counts: Sequence[float] | Shaped[Tensor, "c"] | None = None,
        *,
        shared: bool = True,
        bias: bool = True,
        sparse: bool = False,
    ) -> None:
        super().__init__(width, classes, samples, proposal, counts, shared, bias, sparse)

    @override
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        expect_vectors(z, self.width)
        y = flat_targets(z, targets, self.classes)
        s_y, s, drawn = self._sampled_scores(z.reshape(-1, self.width), y, generator)
        log_q = self.proposal.log_probability(drawn).to(s).expand_as(s)
        log_rest = torch.log1p(-self.proposal.log_probability(y).to(s).exp())
        return sampled_softmax_loss(s_y, s, log_q, drawn == y[:, None], log_rest).to(z.dtype).view(targets.shape)


class NCE(_Sampling):
    r"""Noise-contrastive estimation: a classifier that tells the right class from ``samples`` classes of noise.

        L = −log σ(s_y − log k q_y) − Σ_j log σ(−(s_j − log k q_j))
        s_c = z·w_c + b_c − log C

    The scores are learned to be log p(c | z) as they are; less log C, they begin near that. Arguments and tap: as of
    `SampledSoftmax`.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        samples: int = 25,
        proposal: str | Proposal | Shaped[Tensor, "c"] | None = None,
        counts: Sequence[float] | Shaped[Tensor, "c"] | None = None,
        *,
        shared: bool = False,
        bias: bool = True,
        sparse: bool = False,
    ) -> None:
        super().__init__(width, classes, samples, proposal, counts, shared, bias, sparse)

    @override
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        expect_vectors(z, self.width)
        y = flat_targets(z, targets, self.classes)
        s_y, s, drawn = self._sampled_scores(z.reshape(-1, self.width), y, generator)
        log_q_y, log_q = (self.proposal.log_probability(classes).to(s) for classes in (y, drawn))
        log_c = math.log(self.classes)
        return nce_loss(s_y - log_c, s - log_c, log_q_y, log_q.expand_as(s)).to(z.dtype).view(targets.shape)


class NegativeSampling(_Sampling):
    r"""A yes for the right class and a no for each of ``samples`` others; fast, and another objective than likelihood.

        L = −log σ(s_y) − Σ_j log σ(−s_j)
        s_c = log p(c | z) − log q_c − log k          at its best

    So ``log_probabilities`` adds log q_c to the scores before it normalises them. Arguments and tap: as of
    `SampledSoftmax`.
    """

    def __init__(
        self,
        width: int,
        classes: int,
        samples: int = 5,
        proposal: str | Proposal | Shaped[Tensor, "c"] | None = None,
        counts: Sequence[float] | Shaped[Tensor, "c"] | None = None,
        *,
        shared: bool = False,
        bias: bool = False,
        sparse: bool = False,
    ) -> None:
        super().__init__(width, classes, samples, proposal, counts, shared, bias, sparse)

    @override
    def losses(
        self, z: Float[Tensor, "*b w"], targets: Integer[Tensor, "*b"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*b"]:
        expect_vectors(z, self.width)
        y = flat_targets(z, targets, self.classes)
        s_y, s, _ = self._sampled_scores(z.reshape(-1, self.width), y, generator)
        return negative_sampling_loss(s_y, s).to(z.dtype).view(targets.shape)

    @override
    def log_probabilities(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b c"]:
        return log_softmax(self.logits(z) + self.proposal.log_q.to(z.dtype))


__all__ = [
    "NCE",
    "NegativeSampling",
    "SampledSoftmax",
    "nce_loss",
    "negative_sampling_loss",
    "sampled_softmax_loss",
]
