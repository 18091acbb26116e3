"""Earth mover's distances against SciPy, and what an MMD must be: 0 of equal sets, never below, of a true kernel."""

import pytest
import torch
from scipy.stats import wasserstein_distance

from cutaway.blocks.generative.mean_discrepancy import earth_movers_distances, histogram_mmd


def histograms(n: int, seed: int) -> torch.Tensor:
    x = torch.rand(n, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) ** 3
    return x / x.sum(1, keepdim=True)


def test_distances_equal_those_of_scipy():
    p, q = histograms(3, 0), histograms(5, 1)
    found = earth_movers_distances(p, q, width=0.5)
    places = [0.5 * b for b in range(7)]
    for i in range(3):
        for j in range(5):
            assert found[i, j].item() == pytest.approx(wasserstein_distance(places, places, p[i], q[j]), abs=1e-12)


def test_mmd_by_hand():
    p = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    near = torch.exp(torch.tensor(-1.0, dtype=torch.float64))
    expected = (2 + 2 * near) / 4 + 1 - 2 * (1 + near) / 2
    assert torch.allclose(histogram_mmd(p, p[:1]), expected)


def test_equal_sets_have_0_and_the_kernel_is_positive_definite():
    p = histograms(9, 0)
    assert float(histogram_mmd(p, p.flip(0))) == pytest.approx(0, abs=1e-12)
    assert float(histogram_mmd(p, histograms(9, 1))) > 0
    kernel = torch.exp(-earth_movers_distances(p, p))
    assert float(torch.linalg.eigvalsh(kernel).min()) > 0


@pytest.mark.untyped
def test_histograms_of_other_bins_are_refused():
    with pytest.raises(ValueError, match=r"q must .* 3.*got .*4"):
        histogram_mmd(torch.rand(2, 3), torch.rand(2, 4))
