"""The regularised incomplete beta function against scipy."""

import numpy as np
import torch
from scipy import special

from cutaway.blocks.likelihoods.incomplete_beta import incomplete_beta


def test_it_is_that_of_scipy():
    rng = np.random.default_rng(0)
    x, a, b = rng.random(2000), rng.gamma(1.0, 20.0, 2000) + 1e-3, rng.gamma(1.0, 20.0, 2000) + 1e-3
    found = incomplete_beta(*map(torch.from_numpy, (x, a, b)))
    np.testing.assert_allclose(found.numpy(), special.betainc(a, b, x), atol=1e-10)


def test_its_ends_and_symmetry():
    assert incomplete_beta(torch.tensor([0.0, 1.0]), 2.0, 3.0).tolist() == [0.0, 1.0]
    x = torch.tensor(0.3).double()
    torch.testing.assert_close(incomplete_beta(x, 2.5, 4.0), 1 - incomplete_beta(1 - x, 4.0, 2.5))


def test_large_parameters():
    a = torch.tensor([1e4, 1e5], dtype=torch.float64)
    x = torch.tensor([0.5, 0.501], dtype=torch.float64)
    np.testing.assert_allclose(
        incomplete_beta(x, a, a).numpy(), special.betainc(a.numpy(), a.numpy(), x.numpy()), atol=1e-6
    )
