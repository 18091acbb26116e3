"""The light model of the next value: its density, where it starts, and what it learns."""

import pytest
import scipy.stats
import torch

from cutaway.models import SeriesDensity, from_spec, spec_from_dict


def test_density_same_as_scipy(float64):
    model = SeriesDensity(lags=(1, 2), calendar=1, width=3)
    torch.nn.init.normal_(model.second.weight)
    x, y = torch.randn(5, 3), torch.randn(5)
    found = model(x)
    expected = scipy.stats.t.logpdf(
        y.numpy(), float(found.freedom.detach()), found.location.detach().numpy(), found.scale.detach().numpy()
    )
    torch.testing.assert_close(found.log_density(y).detach(), torch.from_numpy(expected))


def test_it_starts_as_the_value_before():
    x = torch.randn(7, 2)
    assert torch.equal(SeriesDensity(lags=(1, 2))(x).location, x[:, 0])


def test_it_is_built_again_from_its_spec():
    model = SeriesDensity(lags=(1, 24), calendar=4)
    again = from_spec(spec_from_dict(model.spec.to_dict()))
    assert again.spec == model.spec
    with pytest.raises(ValueError, match=r"lags must be steps back, each at least 1, got \(0,\)"):
        SeriesDensity(lags=(0,))
