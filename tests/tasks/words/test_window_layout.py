"""Stretches laid out for steps: windows as lists and as bands say the same, and end with the line."""

import numpy as np
import pytest
import torch

from cutaway.blocks.embeddings.word_windows import spread_back, window_sums
from cutaway.data.text.token_files import Tokens
from cutaway.data.words.word_chunks import Stretch, WindowDraws
from cutaway.tasks.words.window_layout import BLOCK, SHARED, Caps, WindowLayout, capped_shares

NO_CAPS = Caps(1e9, 1e9, 1e9)
WINDOW = 3


def stretch_of(n, lines=None):
    reaches = np.random.default_rng(n).integers(0, WINDOW, n)
    return Stretch(np.arange(n), reaches, 0, lines)


def matrix_of(stretch):
    """A, written down word by word."""
    n = len(stretch.words)
    line = np.zeros(n) if stretch.lines is None else np.cumsum(np.isin(np.arange(n), stretch.lines))
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = i != j and abs(i - j) <= stretch.reaches[i] + 1 and line[i] == line[j]
    return A


def layout(skip_gram, blocks=2):
    counts = np.ones(500, np.int64)
    return WindowLayout(WindowDraws(Tokens(np.arange(500, dtype=np.uint32)), counts, WINDOW, 0.0), blocks, skip_gram)


@pytest.mark.parametrize("lines", [None, np.array([1, 2, 40, 64, 70])])
@pytest.mark.parametrize("n", [2, 63, 64, 65, 150])
def test_lists_and_bands_are_the_windows_word_by_word(n, lines):
    stretch = stretch_of(n, None if lines is None else lines[lines < n])
    A = matrix_of(stretch)
    lists, bands = layout(False)(stretch, NO_CAPS), layout(True)(stretch, NO_CAPS)
    x = torch.randn(n + 200, 2, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    x[n:] = 0
    sums, back = torch.zeros(len(lists) * 64, 2).double(), torch.zeros(len(x) + 2 * WINDOW, 2).double()
    band = torch.zeros(len(lists) * 64, 500)
    padded = torch.cat([torch.zeros(WINDOW, 2).double(), x])
    for b, batch in enumerate(lists):
        here = slice(64 * b, 64 * b + 64 + 2 * WINDOW)
        sums[64 * b : 64 * b + 64] = window_sums(batch.windows, padded[here])
        back[here] += spread_back(batch.windows, x[64 * b : 64 * b + 64].clone())
        for k, rows in enumerate(bands[b].windows):
            inputs = bands[b].inputs.view(2, -1)[k]
            for i in range(BLOCK):
                band[64 * b + BLOCK * k + i, inputs[rows[i] > 0]] = 1
    expected = torch.from_numpy(A) @ x[:n]
    torch.testing.assert_close(sums[:n], expected)
    assert not sums[n:].any()
    torch.testing.assert_close(back[WINDOW : WINDOW + n], torch.from_numpy(A).T @ x[:n])
    assert np.array_equal(band[:n, :n].numpy(), A)
    assert not band[n:].any()
    assert sum(batch.examples for batch in lists) == (A.sum(1) > 0).sum()
    assert sum(batch.examples for batch in bands) == A.sum()


def test_rows_of_a_batch_are_its_words_with_those_around_and_its_negatives():
    stretch = stretch_of(100)
    first, second = layout(False)(stretch, NO_CAPS)
    assert first.inputs[WINDOW:].tolist() == list(range(64 + WINDOW))
    assert second.inputs[:10].tolist() == list(range(64 - WINDOW, 64 + 7))
    assert second.outputs[:36].tolist() == list(range(64, 100))
    assert len(second.outputs) == 64 + 2 * SHARED
    assert second.input_shares is None
    assert second.scale.flatten()[36:].tolist() == [0.0] * 28


def test_shares_are_capped_by_how_often_a_row_occurs():
    rows = np.array([[3] * 10 + [1] * 2, list(range(12)), [5] * 6 + [7] * 6])
    frequent, rare, both = capped_shares(rows, cap=4.0)
    assert rare is None
    assert frequent.flatten().tolist() == pytest.approx([0.4] * 10 + [1.0] * 2)
    assert both.flatten().tolist() == pytest.approx([4 / 6] * 12)
    assert capped_shares(rows, cap=0.5)[1].flatten().tolist() == [0.5] * 12
    assert capped_shares(rows, cap=12.0) == [None] * 3


def test_targets_and_negatives_have_caps_of_their_own():
    words = np.concatenate([np.full(10, 7), np.arange(20, 74)])
    batch = layout(False)(Stretch(words, np.zeros(64, np.int64), 0), Caps(1e9, 5.0, 1e9))[0]
    assert batch.output_shares.flatten().tolist() == pytest.approx([0.5] * 10 + [1.0] * (54 + 2 * SHARED))
