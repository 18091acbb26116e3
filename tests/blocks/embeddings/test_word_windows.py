"""CBOW and skip-gram over stretches: worked by hand, word by word, and by autograd, in float64."""

import math

import pytest
import torch

from cutaway.blocks import negative_sampling_loss
from cutaway.blocks.embeddings.word_windows import (
    cbow_gradients,
    cbow_loss,
    skip_gram_gradients,
    skip_gram_loss,
    window_rows,
)


def stretches(mean: bool, n: int = 3):
    """Two stretches of 5 words, windows of 1 to 3; the last word of the second has no context."""
    b, k, w, q, d = 2, 5, 3, 7, 4
    generator = torch.Generator().manual_seed(1)
    reach = torch.randint(0, w, (b, k), generator=generator)
    A = window_rows(w, k).double()[reach * k + torch.arange(k)]
    A[0, :, :w] = 0  # the text begins here
    A[1, 4] = 0
    size = A.sum(-1)
    c = torch.where(size > 0, 1 / size.clamp(min=1) if mean else 1.0, 0.0)
    V, U, N = (torch.randn(b, rows, d, dtype=torch.double, generator=generator) for rows in (k + 2 * w, k, q))
    return A, c, V, U, N


@pytest.mark.parametrize("mean", [False, True])
def test_cbow_is_the_sum_word_by_word(mean):
    A, c, V, U, N = stretches(mean)
    total = 0.0
    for b in range(2):
        for i in range(5):
            context = [V[b, j] for j in range(11) if A[b, i, j]]
            if context:
                h = sum(context) / (len(context) if mean else 1)
                scores = torch.stack([h @ row for row in N[b]])
                # 7 negatives of weight 3/7 each
                no = negative_sampling_loss(torch.zeros(1).double(), scores[None])[0].item() - math.log(2)
                total += math.log1p(math.exp(-float(h @ U[b, i]))) + 3 / 7 * no
    assert float(cbow_loss(A, c, V, U, N, n=3)) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("mean", [False, True])
def test_written_out_gradients_of_cbow_are_those_of_autograd(mean):
    A, c, V, U, N = stretches(mean)
    leaves = [x.clone().requires_grad_() for x in (V, U, N)]
    loss = cbow_loss(A, c, *leaves, n=3)
    expected = torch.autograd.grad(loss, leaves)
    found = cbow_gradients(A, c, V, U, N, n=3)
    assert float(found.loss) == pytest.approx(loss.item(), rel=1e-12)
    for one, other in zip(found[1:], expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_steps_of_word2vec_for_the_mean_are_longer_by_the_size_of_the_context():
    A, c, V, U, N = stretches(mean=True)
    long = cbow_gradients(A, c, V, U, N, n=3, back=(c > 0).double())
    one = torch.zeros_like(A)
    one[0, 2] = A[0, 2]  # a single word's context: all its vectors take a step that is longer by its size
    short = cbow_gradients(one, c * one.any(-1), V, U, N, n=3)
    long_one = cbow_gradients(one, c * one.any(-1), V, U, N, n=3, back=one.any(-1).double())
    torch.testing.assert_close(long_one.inputs, short.inputs * one[0, 2].sum())
    assert torch.equal(long.targets, cbow_gradients(A, c, V, U, N, n=3).targets)


def test_skip_gram_is_the_sum_pair_by_pair():
    A, _, V, U, N = stretches(False)
    total = 0.0
    for b, i, j in A.nonzero().tolist():
        scores = N[b] @ V[b, j]
        no = torch.nn.functional.softplus(scores).sum()
        total += float(torch.nn.functional.softplus(-U[b, i] @ V[b, j]) + 3 / 7 * no)
    assert float(skip_gram_loss(A, V, U, N, n=3)) == pytest.approx(total, rel=1e-12)


def test_written_out_gradients_of_skip_gram_are_those_of_autograd():
    A, _, V, U, N = stretches(False)
    leaves = [x.clone().requires_grad_() for x in (V, U, N)]
    loss = skip_gram_loss(A, *leaves, n=3)
    expected = torch.autograd.grad(loss, leaves)
    found = skip_gram_gradients(A, V, U, N, n=3)
    assert float(found.loss) == pytest.approx(loss.item(), rel=1e-12)
    for one, other in zip(found[1:], expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_losses_are_differentiable_twice():
    A, c, V, U, N = stretches(True)
    leaves = [x.requires_grad_() for x in (V, U, N)]
    assert torch.autograd.gradcheck(lambda *x: cbow_loss(A, c, *x, n=2), leaves)
    assert torch.autograd.gradcheck(lambda *x: skip_gram_loss(A, *x, n=2), leaves)


def test_a_stretch_without_any_context_costs_nothing():
    A, c, V, U, N = stretches(False)
    found = cbow_gradients(torch.zeros_like(A), torch.zeros_like(c), V, U, N, n=3)
    assert float(found.loss) == pytest.approx(0.0, abs=1e-12)
    assert all(not part.any() for part in found[1:])
