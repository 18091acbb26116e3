"""AUC, average precision and hits@k: worked by hand, and equal to scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from cutaway.tasks.graphs.ranking_metrics import auc, average_precision, hits_at, ranking_metrics


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn_with_ties(seed: int):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 10, 60) / 10
    targets = rng.integers(0, 2, 60)
    assert auc(scores, targets) == pytest.approx(roc_auc_score(targets, scores))
    assert average_precision(scores, targets) == pytest.approx(average_precision_score(targets, scores))


def test_hits_by_hand():
    scores, targets = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([1, 0, 1, 0, 1])
    assert hits_at(scores, targets, 1) == pytest.approx(1 / 3)  # above 0.8
    assert hits_at(scores, targets, 2) == pytest.approx(2 / 3)  # above 0.6
    assert np.isnan(hits_at(scores, targets, 3))  # there are only two negatives: none is the third best
    assert hits_at(np.ones(4), np.array([1, 0, 1, 0]), 2) == 0  # as high is not higher
    with pytest.raises(ValueError, match="k counts the best negatives, got 0; use 1 or more"):
        hits_at(scores, targets, 0)


@pytest.mark.parametrize(
    ("negatives", "k"), [(0, None), (1, 1), (4, 1), (5, 5), (11, 10), (19, 10), (20, 20), (99, 20)]
)
def test_fewer_negatives_have_a_smaller_k(negatives: int, k: int | None):
    """Random scores never hit all: a figure of 1 would say that they do."""
    scores = np.random.default_rng(0).normal(size=negatives + 200)
    targets = (np.arange(len(scores)) >= negatives).astype(int)
    found = ranking_metrics(scores, targets)
    assert [name for name in found if name.startswith("hits")] == ([] if k is None else [f"hits_at_{k}"])
    if k is not None:
        assert found[f"hits_at_{k}"] == hits_at(scores, targets, k) < 1


def test_nothing_to_rank_is_not_a_number():
    assert np.isnan(auc(np.array([0.1, 0.2]), np.array([1, 1])))
    assert np.isnan(average_precision(np.array([0.1, 0.2]), np.array([0, 0])))
    assert np.isnan(hits_at(np.array([0.1, 0.2]), np.array([0, 0]), 1))


def test_all_of_them_in_one():
    found = ranking_metrics(np.array([3.0, 2.0, 1.0]), np.array([1, 0, 0]))
    assert found == {"auc": 1.0, "average_precision": 1.0, "hits_at_1": 1.0}
