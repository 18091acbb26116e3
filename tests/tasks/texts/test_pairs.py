"""Scores of pairs, beside SciPy and cases by hand."""

import numpy as np
import pytest
import torch

from cutaway.tasks.texts.pairs import ranking, spearman


def test_ranking_by_hand():
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.5, 0.4, 0.3], [0.3, 0.3, 0.3]])
    found = ranking(scores, torch.tensor([0, 2, 1]))
    assert found["recall@1"] == pytest.approx(1 / 3)  # ranks 1, 3 and 3: what ties comes first
    assert found["recall@5"] == 1
    assert found["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)


def test_spearman_is_scipys():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40).astype(float), rng.normal(size=40)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert spearman(np.ones(3), np.arange(3.0)) == 0
