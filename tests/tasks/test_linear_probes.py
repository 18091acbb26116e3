"""The linear probe is scikit-learn's logistic regression on standardised vectors."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from cutaway.tasks.linear_probes import fit_probe


def clouds(count: int = 300, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, count)
    x = rng.normal(size=(count, 7)) + 1.5 * np.eye(classes, 7)[y]
    return torch.from_numpy(x), torch.from_numpy(y)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_as_scikit_learn(strength: float):
    x, y = clouds()
    probe = fit_probe(x, y, 3, strength)
    scale = StandardScaler().fit(x)
    theirs = LogisticRegression(C=strength, max_iter=2000, tol=1e-8).fit(scale.transform(x), y)
    p = probe.logits(x).softmax(1).numpy()
    np.testing.assert_allclose(p, theirs.predict_proba(scale.transform(x)), atol=2e-4)
    assert probe.accuracy(x, y) == theirs.score(scale.transform(x), y)


def test_features_that_never_change_do_no_harm():
    x, y = clouds()
    same = torch.cat([x, torch.full((len(x), 2), 5.0, dtype=x.dtype)], 1)
    assert fit_probe(same, y, 3).accuracy(same, y) == fit_probe(x, y, 3).accuracy(x, y)


def test_inside_no_grad_too():
    x, y = clouds()
    with torch.no_grad():
        assert fit_probe(x, y, 3).accuracy(x, y) > 0.6
