"""New heads, fitted to kept features."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from cutaway.models import BERT, BERTSpec
from cutaway.recipes.tuned.heads.fitted_heads import fit_head, only_map
from cutaway.recipes.tuned.heads.frozen_features import KeptFeatures

LABELS = ("a", "b", "c")


def model(**changes: object) -> BERT:
    torch.manual_seed(0)
    body = BERT(BERTSpec.bert(vocabulary=11, width=6, depth=1, heads=2, context=8, dropout=0.1))
    return body.with_labels(LABELS, **changes)  # type: ignore[return-value, arg-type]


def clouds(count: int = 40, width: int = 6) -> tuple[KeptFeatures, np.ndarray]:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, count)
    x = 3 + draw.normal(size=(count, width)) * np.geomspace(0.01, 10, width) + np.eye(3, width)[labels]
    return KeptFeatures(torch.from_numpy(x).float()), labels


def cost(m: BERT, features: KeptFeatures, labels: np.ndarray) -> float:
    found = features(np.arange(len(labels)))
    logits = m.eval().decide(found.values, found.mask)
    return nn.functional.cross_entropy(logits, torch.from_numpy(labels)).item()


@pytest.mark.parametrize("each", ["sequence", "token"])
def test_one_linear_map_is_scikit_learns(each: str):
    """Of however few examples, and whatever the scale of the features."""
    m, (features, labels) = model(each=each, pooling="mean"), clouds()
    fit_head(m, features, labels, seed=0)
    x = features.values.double().numpy()
    scale = StandardScaler().fit(x)
    theirs = LogisticRegression(C=10 / 6, max_iter=5000, tol=1e-8).fit(scale.transform(x), labels)
    p = m.eval().decide(features.values).softmax(-1).detach().numpy()
    np.testing.assert_allclose(p, theirs.predict_proba(scale.transform(x)), atol=1e-3)


@pytest.mark.parametrize("pooling", ["cls", "attention"])
def test_other_heads_are_fitted_by_steps_that_few_examples_do_not_shorten(pooling: str):
    m = model(pooling=pooling)
    features, labels = clouds(12)
    if pooling == "attention":  # reads all tokens of an example: four each
        features = KeptFeatures(features.values.repeat_interleave(4, 0), torch.arange(0, 49, 4))
    assert only_map(m.head) is None
    before = cost(m, features, labels)
    fit_head(m, features, labels, seed=0)
    assert cost(m, features, labels) < before / 2


def test_the_same_seed_gives_the_same_head():
    features, labels = clouds()
    for pooling in ("mean", "cls"):
        ends = []
        for _ in range(2):
            m = model(pooling=pooling)
            fit_head(m, features, labels, seed=3)
            ends.append(m.state_dict())
        assert all(torch.equal(x, ends[1][name]) for name, x in ends[0].items())


def test_a_head_goes_on_from_what_it_knows_and_frozen_parts_stay():
    """Weights that are right already hardly change, where a fit from zero would make them small."""
    features, labels = clouds()
    m = model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    with torch.no_grad():
        m.head.classify.weight.mul_(4)
    known = m.head.classify.weight.detach().clone()
    fit_head(m, features, labels, seed=0, from_zero=False)
    assert m.head.classify.weight.norm() > known.norm() / 2
    m.head.classify.weight.requires_grad_(False)
    stays = m.head.classify.weight.clone()
    fit_head(m, features, labels, seed=0)
    assert torch.equal(m.head.classify.weight, stays)


def test_a_feature_that_hardly_changes_gets_no_huge_weight():
    features, labels = clouds()
    features.values[:, 0] = 5 + 1e-7 * torch.arange(len(labels))
    m = model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    assert m.head.classify.weight[0].abs().max() < 10


def test_more_rows_than_fit_are_taken_evenly(monkeypatch: pytest.MonkeyPatch):
    from cutaway.recipes.tuned.heads import fitted_heads

    features, labels = clouds(400)
    monkeypatch.setattr(fitted_heads, "_NUMBERS", 6 * 100)
    m, some = model(pooling="mean"), model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    rows = np.linspace(0, 399, 100).astype(int)
    fit_head(some, KeptFeatures(features.values[rows]), labels[rows], seed=0)
    assert torch.allclose(m.head.classify.weight, some.head.classify.weight, atol=1e-4)
    assert cost(m, features, labels) < 0.9
