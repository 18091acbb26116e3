"""Forecaster: its spec, and its cache beside the whole pass."""

import pytest
import torch

from cutaway.models import from_spec, spec_from_dict
from cutaway.models.forecasting.forecaster import Forecaster, ForecasterSpec

from .windows_of_series import SIZES, window


def test_it_is_built_again_from_its_spec():
    model = Forecaster(**SIZES, heads=2)
    again = from_spec(spec_from_dict(model.spec.to_dict()))
    assert isinstance(again, Forecaster)
    assert again.spec == model.spec == ForecasterSpec(**SIZES, heads=2)
    again.load_state_dict(model.state_dict())
    model.eval()
    again.eval()
    one = window(model)
    assert torch.equal(model(one).mean, again(one).mean)


def test_the_cache_gives_what_the_whole_pass_gives():
    torch.manual_seed(0)
    model = Forecaster(**SIZES).double().eval()
    x = torch.randn(2, 7, model.spec.inputs).double()
    whole, _ = model.network(x)
    _, read = model.network(x[:, :5])
    with torch.no_grad():
        cache = model.fork_state(read, 3, 2)
        for t in (5, 6):
            h, cache = model.network_step(x[:, t].repeat_interleave(3, 0), cache)
            torch.testing.assert_close(h, whole[:, t].repeat_interleave(3, 0))


def test_a_width_that_heads_cannot_share_is_told():
    with pytest.raises(ValueError, match=r"got width=10, heads=4; try width=8"):
        ForecasterSpec(width=10)
