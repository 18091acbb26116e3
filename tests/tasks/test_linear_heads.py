"""New heads, fitted to kept features."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from cutaway.models import BERT, BERTSpec
from cutaway.tasks.frozen_features import KeptFeatures
from cutaway.tasks.linear_heads import _splits, fit_head

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


def probabilities(m: BERT, features: KeptFeatures) -> np.ndarray:
    found = features(np.arange(len(features.values) if features.starts is None else len(features.starts) - 1))
    return m.eval().decide(found.values, found.mask).softmax(-1).detach().numpy()


@pytest.mark.parametrize("each", ["sequence", "token"])
def test_it_is_scikit_learns_at_the_strength_and_temperature_chosen(each: str):
    """Of however few examples, and whatever the scale of the features."""
    m, (features, labels) = model(each=each, pooling="mean"), clouds()
    fit = fit_head(m, features, labels, seed=0)
    assert fit is not None
    x = features.values.double().numpy()
    scale = StandardScaler().fit(x)
    theirs = LogisticRegression(C=fit.strength / 6, max_iter=5000, tol=1e-8).fit(scale.transform(x), labels)
    expected = softmax(theirs.decision_function(scale.transform(x)) / fit.temperature, axis=1)
    np.testing.assert_allclose(probabilities(m, features), expected, atol=1e-3)
    assert fit.loss == pytest.approx(cost(m, features, labels), abs=1e-4)


@pytest.mark.parametrize("each", [8, 100])
def test_features_that_say_nothing_make_no_head_that_is_sure(each: int):
    """200 features of noise tell any few examples apart; a head that believes them is sure of everything."""
    draw = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], each)
    features = KeptFeatures(torch.from_numpy(draw.normal(size=(len(labels), 200))).float())
    new = KeptFeatures(torch.from_numpy(draw.normal(size=(1000, 200))).float())
    torch.manual_seed(0)
    body = BERT(BERTSpec.bert(vocabulary=11, width=200, depth=1, heads=2, context=8))
    m = body.with_labels(LABELS, pooling="mean")
    fit_head(m, features, labels, seed=0)
    assert probabilities(m, new).max(1).mean() < 0.5


@pytest.mark.parametrize("pooling", ["cls", "attention"])
def test_of_other_heads_the_last_layer_is_fitted_and_the_rest_stays(pooling: str):
    m = model(pooling=pooling)
    features, labels = clouds(60)
    if pooling == "attention":  # reads all tokens of an example: four each
        features = KeptFeatures(features.values.repeat_interleave(4, 0), torch.arange(0, 241, 4))
    before, rest = cost(m, features, labels), {k: v.clone() for k, v in m.state_dict().items() if "classify" not in k}
    assert fit_head(m, features, labels, seed=0) is not None
    assert cost(m, features, labels) < 0.95 * before
    assert all(torch.equal(m.state_dict()[name], value) for name, value in rest.items())


def test_a_class_of_one_example_and_one_class_alone():
    features, labels = clouds()
    m = model(pooling="mean")
    lone = np.where(np.arange(len(labels)) == 0, 2, labels % 2)
    assert fit_head(m, features, lone, seed=0) is not None
    before = m.head.classify.weight.clone()
    assert fit_head(m, features, np.zeros_like(labels), seed=0) is None
    assert torch.equal(m.head.classify.weight, before)


def test_what_is_left_out_has_each_class_in_its_share():
    y = np.repeat([0, 1], [14, 14])
    for learned, left_out in _splits(y, seed=0):
        assert abs(int((y[left_out] == 0).sum()) - int((y[left_out] == 1).sum())) <= 1
        assert sorted([*learned.tolist(), *left_out.tolist()]) == list(range(28))


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
    """Weights that are right already stay, where two examples of each class would say little."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, 400)
    features = KeptFeatures(torch.from_numpy(draw.normal(size=(400, 6)) + 2 * np.eye(3, 6)[labels]).float())
    m = model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    right = cost(m, features, labels)
    rows = np.concatenate([np.flatnonzero(labels == c)[:4] for c in range(3)])
    few = KeptFeatures(features.values[rows])
    anew = model(pooling="mean")
    fit_head(anew, few, labels[rows], seed=0)
    fit_head(m, few, labels[rows], seed=0, known=True)
    assert right < cost(m, features, labels) < cost(anew, features, labels) - 0.05
    m.head.classify.weight.requires_grad_(False)
    stays = m.head.classify.weight.clone()
    assert fit_head(m, features, labels, seed=0) is None
    assert torch.equal(m.head.classify.weight, stays)


def test_a_feature_that_hardly_changes_gets_no_huge_weight():
    features, labels = clouds()
    features.values[:, 0] = 5 + 1e-7 * torch.arange(len(labels))
    m = model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    assert m.head.classify.weight[0].abs().max() < 10


def test_more_rows_than_fit_are_taken_evenly(monkeypatch: pytest.MonkeyPatch):
    from cutaway.tasks import linear_heads as fitted_heads

    features, labels = clouds(400)
    monkeypatch.setattr(fitted_heads, "_NUMBERS", 6 * 100)
    m, some = model(pooling="mean"), model(pooling="mean")
    fit_head(m, features, labels, seed=0)
    rows = np.linspace(0, 399, 100).astype(int)
    fit_head(some, KeptFeatures(features.values[rows]), labels[rows], seed=0)
    assert torch.allclose(m.head.classify.weight, some.head.classify.weight, atol=1e-4)
    assert cost(m, features, labels) < 0.9
