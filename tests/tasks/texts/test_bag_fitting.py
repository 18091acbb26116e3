"""The bag of n-grams, fitted, is scikit-learn's logistic regression on the same weighted features."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from cutaway.blocks import NaiveBayesBag
from cutaway.data.text.token_rows import TokenRows
from cutaway.tasks.texts import bag_fitting
from cutaway.tasks.texts.bag_fitting import fit_bag


def example(classes: int) -> tuple[NaiveBayesBag, TokenRows, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = (rng.random((60, 12)) < 0.3).astype(float)
    labels = rng.integers(0, classes, 60)
    x[:, 0] = 0
    bag = NaiveBayesBag(12, classes).double()
    bag.set_counts(torch.tensor(np.stack([x[labels == label].sum(0) for label in range(classes)], 1)))
    return bag, TokenRows.from_rows([np.flatnonzero(row) for row in x]), labels, x


def test_two_classes_are_those_of_scikit_learn():
    bag, features, labels, x = example(2)
    fit_bag(bag, features, labels, penalty=4.0)
    peer = LogisticRegression(C=2 / 4.0, tol=1e-8, max_iter=1000).fit(x * bag.ratios[:, 1].numpy(), labels)
    ours = bag(torch.from_numpy(features.padded(np.arange(60))))
    ours = (ours[:, 1] - ours[:, 0]).detach().numpy()
    np.testing.assert_allclose(ours, peer.decision_function(x * bag.ratios[:, 1].numpy()), atol=0.02)


def test_it_is_a_minimum_and_learns_no_more():
    bag, features, labels, _ = example(3)
    reached = fit_bag(bag, features, labels, penalty=1.0)
    assert not bag.weight.requires_grad
    assert not bag.bias.requires_grad
    ids, truth = torch.from_numpy(features.padded(np.arange(60))), torch.from_numpy(labels)
    for _ in range(5):
        moved = bag.weight + 0.05 * torch.randn_like(bag.weight)
        s = bag.bias + torch.nn.functional.embedding_bag(ids, bag.ratios * moved, mode="sum", padding_idx=0)
        cost = torch.nn.functional.cross_entropy(s, truth) + moved.square().sum() / 120
        assert cost.item() > reached


def test_a_stronger_penalty_gives_smaller_weights():
    sizes = []
    for penalty in (0.1, 10.0):
        bag, features, labels, _ = example(2)
        fit_bag(bag, features, labels, penalty)
        sizes.append(bag.weight.norm().item())
    assert sizes[0] > 2 * sizes[1]


def test_many_classes_are_fitted_to_fewer_texts_of_each(monkeypatch: pytest.MonkeyPatch):
    """The work of a pass is n-grams times classes: beyond a bound texts are left out, the first of a class never."""
    bag, features, labels, _ = example(6)
    whole = len(features.ids) * 6
    monkeypatch.setattr(bag_fitting, "_WORK", -(-whole // 3))
    seen: list[int] = []
    loss = torch.nn.functional.cross_entropy
    monkeypatch.setattr(
        torch.nn.functional, "cross_entropy", lambda s, y, **more: seen.append(len(y)) or loss(s, y, **more)
    )
    fit_bag(bag, features, labels, penalty=4.0)
    assert set(seen) == {sum(-(-int(n) // 3) for n in np.bincount(labels))}


def test_of_thousands_of_classes_the_bag_is_naive_bayes_at_the_scale_that_fits(monkeypatch: pytest.MonkeyPatch):
    bag, features, labels, _ = example(3)
    monkeypatch.setattr(bag_fitting, "_FEW", 10**9)
    found = fit_bag(bag, features, labels, penalty=4.0)
    assert torch.equal(bag.weight, torch.full_like(bag.weight, float(bag.weight[0, 0])))
    with torch.no_grad():
        scores = bag(torch.from_numpy(features.padded(np.arange(60))))
    truth = torch.from_numpy(labels)
    cost = lambda scale: torch.nn.functional.cross_entropy(scores * scale, truth).item()
    assert found == pytest.approx(cost(1.0), abs=1e-6)
    assert found < min(cost(1.3), cost(0.7), np.log(3))
    assert not bag.weight.requires_grad
