"""Diffusion: a network that knows the truth makes the images back; guidance, classes, samplers and what is refused."""

import json

import pytest
import torch

from cutaway.catalogue.generative import stirred
from cutaway.models import Diffusion, DiffusionSpec, from_spec, spec_from_dict

COMBINATIONS = [
    ("straight", "flow", "euler"),
    ("straight", "velocity", "ddim"),
    ("straight", "image", "ddpm"),
    ("cosine", "noise", "ddim"),
    ("cosine", "velocity", "ddpm"),
    ("linear", "noise", "ddpm"),
]


class Oracle(Diffusion):
    """Knows that there is one image in the world, and predicts accordingly."""

    truth: torch.Tensor

    def forward(self, x, time, labels=None):
        from cutaway.blocks import denoising_target

        signal, scale = self.schedule.at((time * self.spec.levels).round().long(), x)
        return denoising_target(
            self.spec.target, self.truth.expand_as(x), (x - signal * self.truth) / scale, signal, scale
        )


@pytest.mark.parametrize(("schedule", "target", "sampler"), COMBINATIONS)
def test_samplers_come_to_the_image_that_the_network_knows(schedule: str, target: str, sampler: str):
    torch.manual_seed(0)
    model = Oracle(image=(4, 5), width=4, schedule=schedule, target=target).double()
    model.truth = 2 * torch.rand(1, 1, 4, 5).double() - 1
    found = model.sample(3, steps=10, sampler=sampler, generator=torch.Generator().manual_seed(0))
    expected = ((model.truth + 1) / 2).expand(3, -1, -1, -1)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_flow_by_euler_and_ddim_is_one():
    torch.manual_seed(0)
    model = stirred(Diffusion(image=(4, 5), width=4, condition=4)).double()
    one, other = (
        model.sample(3, steps=7, sampler=sampler, generator=torch.Generator().manual_seed(2))
        for sampler in ("euler", "ddim")
    )
    torch.testing.assert_close(one, other)


def test_a_loss_of_one_at_the_start_is_the_spread_of_the_target():
    """The untrained network predicts 0, so the loss is the mean square of ε − x₀: 1 + x₀²."""
    torch.manual_seed(0)
    model = Diffusion(image=(8, 8), width=4)
    found = model.loss(torch.ones(500, 1, 8, 8))
    assert found.shape == (500,)
    assert found.mean().item() == pytest.approx(2, abs=0.05)


def test_levels_are_spread_evenly_over_a_batch():
    model, seen = Diffusion(image=(4, 4), width=4), []
    model.forward = lambda x, time, labels=None: seen.append(time) or x
    model.loss(torch.rand(10, 1, 4, 4))
    gaps = seen[0].sort().values.diff()
    assert ((gaps - 0.1).abs() < 0.0021).all()
    assert seen[0].min() > 0


def test_guidance_of_one_and_none():
    torch.manual_seed(0)
    model = stirred(Diffusion(image=(4, 4), classes=3, width=4, condition=4)).double()
    labels, noise = torch.tensor([0, 2]), torch.randn(2, 1, 4, 4).double()

    def last(labels: torch.Tensor | None, guidance: float) -> torch.Tensor:
        return [stop.x for stop in model.denoising_path(noise, labels, guidance, steps=3)][-1]

    torch.testing.assert_close(last(labels, 0.0), last(None, 1.0))
    torch.testing.assert_close(last(labels, 1.0), last(labels, 1.0000001), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(last(labels, 1.0), last(labels, 2.0))
    assert not torch.allclose(last(labels, 1.0)[0], last(labels.flip(0), 1.0)[0])


def test_the_way_from_noise_to_image():
    model = Diffusion(image=(4, 4), width=4)
    noise = torch.randn(2, 1, 4, 4)
    path = [*model.denoising_path(noise, steps=4)]
    assert [stop.level for stop in path] == [1000, 750, 500, 250, 0]
    assert torch.equal(path[0].x, noise)
    assert torch.equal(path[-1].x, path[-1].image)


def test_a_spec_goes_through_json():
    model = Diffusion(image=(7, 5), channels=3, classes=4, width=4)
    spec = spec_from_dict(json.loads(json.dumps(model.spec.to_dict())))
    assert spec == model.spec
    again = from_spec(spec)
    again.load_state_dict(model.state_dict())


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="from which no image follows, got target='noise'"):
        DiffusionSpec(image=(4, 4), target="noise")
    with pytest.raises(ValueError, match="schedule must be one of linear, cosine, straight, got 'sine'"):
        DiffusionSpec(image=(4, 4), schedule="sine")
    with pytest.raises(ValueError, match="classes must be 0 or above, got -1"):
        DiffusionSpec(image=(4, 4), classes=-1)
    model = Diffusion(image=(4, 4), width=4, schedule="cosine")
    with pytest.raises(ValueError, match="Euler's steps follow the straight schedule, got schedule='cosine'"):
        model.sample(1, sampler="euler")
    with pytest.raises(ValueError, match="sampler must be one of ddpm, ddim, euler, got 'heun'"):
        model.sample(1, sampler="heun")
    with pytest.raises(ValueError, match="built without classes, got labels"):
        model.sample(2, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="a class for each of 3 images, got 2"):
        model.sample(3, torch.tensor([0, 1]))
