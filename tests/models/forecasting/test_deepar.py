"""DeepAR: its spec, its training, and that it learns what a linear model cannot know."""

import torch

from cutaway.models import from_spec, spec_from_dict
from cutaway.models.forecasting.deepar import DeepAR, DeepARSpec

from .windows_of_series import SIZES, window


def test_it_is_built_again_from_its_spec():
    model = DeepAR(**SIZES)
    again = from_spec(spec_from_dict(model.spec.to_dict()))
    assert isinstance(again, DeepAR)
    assert again.spec == model.spec == DeepARSpec(**SIZES)
    again.load_state_dict(model.state_dict())
    model.eval()
    again.eval()
    one = window(model)
    assert torch.equal(model(one).mean, again(one).mean)


def test_a_few_steps_make_a_window_more_likely():
    torch.manual_seed(0)
    model = DeepAR(**SIZES)
    one = window(model)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(30):
        loss = -model.log_likelihood(one).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_the_state_after_a_pass_is_that_after_its_steps():
    model = DeepAR(**SIZES).eval()
    x = torch.randn(2, 5, model.spec.inputs)
    whole, state = model.network(x)
    _, before = model.network(x[:, :4])
    h, after = model.network_step(x[:, 4], before)
    torch.testing.assert_close(h, whole[:, -1])
    for a, b in zip(after, state, strict=True):
        torch.testing.assert_close(a, b)
