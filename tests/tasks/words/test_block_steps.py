"""Steps without autograd: they move the rows as the gradient says, and a frequent row no further than the cap."""

import numpy as np
import pytest
import torch

from cutaway.blocks.embeddings.word_windows import cbow_loss, skip_gram_loss
from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import WindowDraws, WordChunk
from cutaway.models.words.word_vectors import WordVectors, WordVectorsSpec
from cutaway.tasks.words.block_steps import BlockSteps, Method
from cutaway.tasks.words.window_layout import BLOCK, SHARED


@pytest.mark.parametrize(("skip_gram", "n"), [(False, 20), (False, 45), (True, 45)])
def test_a_small_step_is_a_step_along_the_gradient_of_all_its_words(skip_gram, n):
    """Words that are all different, so that nothing is capped: the step is −rate times autograd's gradient."""
    generator = torch.Generator().manual_seed(0)
    counts = np.ones(2000, np.int64)
    draws = WindowDraws(Tokens(np.arange(n, dtype=np.uint32)), counts, 3, 0.0, seed=1)
    model = WordVectors(WordVectorsSpec(vocabulary=2000, width=5), torch.from_numpy(counts))
    model.embed.weight.data = torch.randn(2000, 5, generator=generator)
    model.output.weight.data = torch.randn(2000, 5, generator=generator)
    v, u = model.embed.weight.detach().clone().requires_grad_(), model.output.weight.detach().clone().requires_grad_()
    (stretch,) = draws.stretches(WordChunk(0, n))
    blocks = -(-n // BLOCK)
    negatives = torch.from_numpy(draws.negatives(stretch.place, blocks * SHARED)).view(blocks, SHARED)
    loss, count = torch.zeros(()), 0
    for i in range(n):  # word by word, each with the negatives of its block
        reach = int(stretch.reaches[i]) + 1
        context = [j for j in range(max(0, i - reach), min(n, i + reach + 1)) if j != i]
        V, U, N = v[context][None], u[[i]][None], u[negatives[i // BLOCK]][None]
        A = torch.ones(1, 1, len(context))
        loss = loss + (skip_gram_loss(A, V, U, N, 5.0) if skip_gram else cbow_loss(A, torch.ones(1, 1), V, U, N, 5.0))
        count += len(context) if skip_gram else 1
    expected = torch.autograd.grad(loss, (v, u))
    steps = BlockSteps(draws, Method(skip_gram, False, 5), batch=BLOCK * blocks)
    mean = steps(model, WordChunk(0, n), rate=1e-3)
    assert mean == pytest.approx(loss.item() / count, rel=1e-4)
    torch.testing.assert_close((v - model.embed.weight).detach() / 1e-3, expected[0], rtol=2e-2, atol=2e-3)
    torch.testing.assert_close((u - model.output.weight).detach() / 1e-3, expected[1], rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(("skip_gram", "mean"), [(False, False), (False, True), (True, False)])
def test_few_words_and_many_steps_stay_finite(skip_gram, mean):
    words = np.array([0, 1, 2, 3, 0, 0, 0, 0] * 200, np.uint32)
    counts = np.bincount(words)
    draws = WindowDraws(Tokens(words), counts, 5, 0.0)
    model = WordVectors(WordVectorsSpec(vocabulary=4, width=6), torch.from_numpy(counts))
    steps = BlockSteps(draws, Method(skip_gram, mean, 5), batch=256)
    first = steps(model, WordChunk(0, 1600), 0.05)
    for _ in range(3):
        last = steps(model, WordChunk(0, 1600), 0.05)
    assert last < first
    assert model.embed.weight.isfinite().all()


def test_rates_of_the_pulls_at_a_row_add_up_to_no_more_than_the_total():
    """CBOW of window 5: an input is in 6 windows, of 6 pulls each; a negative stands for 5 words."""
    draws = WindowDraws(Tokens(np.arange(50, dtype=np.uint32)), np.ones(50, np.int64), 5, 0.0)
    mean = BlockSteps(draws, Method(skip_gram=False, mean=True, negatives=5), 256).caps(rate=0.05)
    assert mean == pytest.approx((20 / 6, 20, 20 / 5))
    summed = BlockSteps(draws, Method(skip_gram=False, mean=False, negatives=5), 256).caps(rate=0.05)
    assert summed.inputs == pytest.approx(20 / 36)
    pairs = BlockSteps(draws, Method(skip_gram=True, mean=False, negatives=5), 256).caps(rate=0.05)
    assert pairs == pytest.approx((20 / 6, 20 / 6, 20 / 30))


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_a_summed_context_of_a_wide_window_with_many_negatives_learns(rate):
    words = np.random.default_rng(0).zipf(1.3, 20_000).clip(max=300).astype(np.uint32) - 1
    counts = np.bincount(words, minlength=300) + 1
    draws = WindowDraws(Tokens(words), counts, 10, 0.0)
    model = WordVectors(WordVectorsSpec(vocabulary=300, width=20), torch.from_numpy(counts))
    steps = BlockSteps(draws, Method(skip_gram=False, mean=False, negatives=15), batch=256)
    losses = [steps(model, WordChunk(0, 20_000), rate) for _ in range(3)]
    assert max(losses) < 16 * np.log(2)  # what vectors of zeros reach
    assert model.embed.weight.isfinite().all()
