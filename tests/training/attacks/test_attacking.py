"""`cut.attack`: what each kind may do, restarts, modes and weights untouched, runs and modules, bad input."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.training.attacks.attacking import KINDS, as_it_predicts


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(6 * 36, 3)]
    return nn.Sequential(*layers)


def some(count: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.rand(count, 1, 8, 8), torch.randint(3, (count,))


def state(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(kind):
    model, (x, y) = network(), some()
    before, copy = state(model), x.clone()
    found = cut.attack(model, x, y, kind=kind, epsilon=0.1, steps=10, step=0.03, restarts=2)
    assert found.images.shape == x.shape
    assert (found.images - x).abs().max() <= 0.1 + 1e-6
    assert found.images.min() >= 0
    assert found.images.max() <= 1
    assert torch.equal(x, copy)
    assert model.training  # and every part of it, as before
    assert all(part.training for part in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model.eval()
    assert torch.equal(found.success, model(found.images).argmax(1) != y)
    again = cut.attack(model, x, y, kind=kind, epsilon=0.1, steps=10, step=0.03, restarts=2, batch=7)
    if kind != "square":  # whose draws are made batch by batch
        torch.testing.assert_close(again.images, found.images)


def test_stronger_attacks_succeed_more():
    model = network().eval()
    x = some(60)[0]
    y = model(x).argmax(1)
    shares = [cut.attack(model, x, y, k, 0.03, steps=20, step=0.006).success.float().mean() for k in ("noise", "pgd")]
    assert shares[0] < shares[1]
    more = cut.attack(model, x, y, "pgd", 0.03, steps=20, step=0.006, restarts=4).success
    assert (more >= cut.attack(model, x, y, "pgd", 0.03, steps=20, step=0.006, restarts=1).success).all()


def test_a_run_is_attacked_through_its_model():
    class Opened:
        model = network().eval()

    x, y = some(5)
    assert torch.equal(cut.attack(Opened(), x, y).images, cut.attack(Opened.model, x, y).images)


def test_zero_and_no_images():
    model, (x, y) = network().eval(), some()
    right = model(x).argmax(1)
    assert not cut.attack(model, x, right, "pgd", epsilon=0.0).success.any()
    none = cut.attack(model, x[:0], y[:0], "pgd")
    assert none.images.shape == (0, 1, 8, 8)
    assert none.success.shape == (0,)


def test_frozen_weights_and_no_grad_do_not_matter():
    model, (x, y) = network().eval().requires_grad_(False), some()
    with torch.no_grad():
        frozen = cut.attack(model, x, y, "pgd", steps=3)
    assert torch.equal(frozen.images, cut.attack(model.requires_grad_(True), x, y, "pgd", steps=3).images)


def test_a_model_that_says_nan_is_beaten():
    class Broken(nn.Module):
        def forward(self, x):
            return x.flatten(1)[:, :3] * torch.nan

    assert cut.attack(Broken(), *some(4), kind="noise").success.all()


class Rounding(nn.Module):
    """A model without gradients."""

    def forward(self, x):
        return (x.flatten(1)[:, :3] > 0.5).float()


def test_squares_need_no_gradients():
    x = torch.full((4, 1, 8, 8), 0.55)
    x[:, :, 0, 0] = 0.4
    found = cut.attack(Rounding(), x, torch.ones(4, dtype=torch.long), "square", 0.2, steps=20)
    assert found.success.any()


@pytest.mark.untyped
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_images_are_taken_to_the_precision_of_the_model(kind, dtype):
    model, (x, y) = network().eval().to(dtype), some(6)
    found = cut.attack(model, x.double().numpy(), y.tolist(), kind, 0.125, steps=2, step=0.0625)
    assert found.images.dtype == dtype
    assert (found.images.double() - x.to(dtype).double()).abs().max() <= 0.125 + 0.004  # bfloat16 has 8 bits


@pytest.mark.parametrize("kind", KINDS)
def test_the_layout_in_memory_does_not_matter(kind):
    model, x, y = network().eval(), some()[0].transpose(2, 3), some()[1]
    settings = dict(kind=kind, epsilon=0.1, steps=3, step=0.05)
    found, whole = (cut.attack(model, images, y, **settings).images for images in (x, x.contiguous()))
    assert torch.equal(found, whole)
    one = x[:1].expand(3, -1, -1, -1)  # three images in one place of memory
    assert cut.attack(model, one, y[:1].expand(3), **settings).images.shape == (3, 1, 8, 8)


@pytest.mark.parametrize("kind", KINDS)
def test_inference_mode_does_not_matter(kind):
    model, (x, y) = network().eval(), some()
    settings = dict(kind=kind, epsilon=0.1, steps=3, step=0.05)
    with torch.inference_mode():
        found = cut.attack(model, x * 1.0, y * 1, **settings)
    assert torch.equal(found.images, cut.attack(model, x, y, **settings).images)


def test_threads_that_share_a_model_leave_its_mode_alone():
    """The second thread must not take the first one's evaluation mode for the model's own."""
    model, (x, y) = network().train(), some()
    alone = cut.attack(model, x, y, "pgd", 0.1, steps=5).images
    first, second = as_it_predicts(model), as_it_predicts(model)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not model.training  # the second still needs it
    second.__exit__(None, None, None)
    assert all(part.training for part in model.modules())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cut.attack(model, x, y, "pgd", 0.1, steps=5).images, range(8)))
    assert all(torch.equal(images, alone) for images in found)
    assert all(part.training for part in model.modules())


def test_norms_may_be_numbers():
    model, (x, y) = network(), some(4)
    for word, number in (("2", 2), ("inf", float("inf"))):
        first, second = (cut.attack(model, x, y, "pgd", 0.5, steps=2, norm=norm) for norm in (word, number))
        assert torch.equal(first.images, second.images)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "cw"}, "kind must be one of noise, fgsm, pgd, margin, square, got 'cw'"),
        ({"images": torch.zeros(30, 1, 8, 8, dtype=torch.uint8)}, "images must be floats within bounds"),
        ({"images": torch.full((30, 1, 8, 8), 255.0)}, "got values from 255 to 255; scale them, or set bounds"),
        ({"labels": torch.zeros(29, dtype=torch.int64)}, r"each of the 30 images, got shape \(29,\)"),
        ({"labels": torch.full((30,), 3)}, "labels must be classes from 0 to 2, got 3 to 3"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0; leave it out"),
        ({"batch": 0}, "batch must be a whole number of at least 1, got 0"),
        ({"step": 0.0}, "step must be above 0, got 0.0; try step=0.01"),
        ({"images": torch.full((30, 1, 8, 8), torch.nan)}, "got values from nan to nan"),
        ({"images": torch.tensor(1.0)}, r"images must have shape \(count, ...\), got \(\)"),
        ({"run_or_model": Rounding()}, 'got a model whose outputs have none .*; use kind="square"'),
        ({"run_or_model": "runs/cnn-1"}, "needs a run or an nn.Module, got str"),
        ({"run_or_model": nn.Conv2d(1, 3, 3)}, r"gives logits \(b, classes\), got shape \(1, 3, 6, 6\)"),
    ],
)
def test_mistakes(change, message):
    x, y = some()
    with pytest.raises(ValueError, match=message):
        cut.attack(**{"run_or_model": network(), "images": x, "labels": y} | change)


@pytest.mark.untyped
def test_mistakes_of_type():
    model, (x, y) = network(), some()
    with pytest.raises(ValueError, match=r"steps must be a whole number of at least 1, got 1\.5"):
        cut.attack(model, x, y, steps=1.5)
    with pytest.raises(ValueError, match=r"bounds must be \(lowest, highest\) of a pixel, got \(0.0,\)"):
        cut.attack(model, x, y, bounds=(0.0,))
