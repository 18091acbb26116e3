"""CNN: equal to torch.nn wired by hand, its spec, sizes, equivariance of its answer, messages."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.models import CNN, CNNSpec, from_spec, spec_from_dict


def weights(**sizes) -> int:
    return sum(p.numel() for p in CNN(classes=10, **sizes).parameters())


def test_equal_to_torch_wired_by_hand(float64):
    model = CNN(classes=5, channels=2, width=4, squares=2).eval()
    for module in model.modules():
        if hasattr(module, "running_mean"):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2)
    model.scale.fit(torch.tensor([0.2, 0.4]), torch.tensor([0.3, 0.1]))

    def layer(block, inputs, outputs):
        conv, norm = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)
        conv.load_state_dict(block.conv.state_dict())
        norm.load_state_dict(block.norm.state_dict() | {"num_batches_tracked": torch.tensor(0)})
        return [conv, norm, nn.ReLU()]

    (a, b), (c, d) = model.stages
    head = nn.Linear(8, 5)
    head.weight.data, head.bias.data = model.head.linear.weight.data.T, model.head.linear.bias.data
    other = nn.Sequential(
        nn.PixelUnshuffle(2),
        *layer(a, 8, 4),
        *layer(b, 4, 4),
        nn.MaxPool2d(2),
        *layer(c, 4, 8),
        *layer(d, 8, 8),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        head,
    ).eval()
    x = torch.rand(3, 2, 12, 8)
    scaled = (x - torch.tensor([0.2, 0.4])[:, None, None]) / torch.tensor([0.3, 0.1])[:, None, None]
    torch.testing.assert_close(model(x), other(scaled))


def test_a_dense_layer_and_a_curve_equal_torch_wired_by_hand(float64):
    sizes = dict(width=4, depth=1, squares=2, norm="none", contrast=0.3, dense=6, places=(3, 2))
    model = CNN(classes=5, **sizes).eval()
    first, second, hidden = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1), nn.Linear(48, 6)
    first.load_state_dict(model.stages[0][0].conv.state_dict())
    second.load_state_dict(model.stages[1][0].conv.state_dict())
    hidden.weight.data, hidden.bias.data = model.hidden.weight.data.T, model.hidden.bias.data
    maps = nn.Sequential(nn.PixelUnshuffle(2), first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU())
    x = torch.rand(3, 1, 12, 8)
    flat = maps(((x - 0.3) / 0.4).clamp(0, 1) + 0.05 * x).flatten(1)
    torch.testing.assert_close(model(x), model.head(hidden(flat).relu()))
    assert model(torch.rand(2, 1, 24, 24)).shape == (2, 5)  # other sizes are pooled to these places


def test_specs_of_older_runs_have_neither():
    old = {k: v for k, v in CNNSpec(classes=3).to_dict().items() if k not in ("contrast", "dense", "places")}
    spec = spec_from_dict(old)
    assert (spec.contrast, spec.dense) == (0, 0)
    assert set(CNN(spec).state_dict()) == set(CNN(classes=3).state_dict())
    assert not any("hidden" in name or "contrast" in name for name in CNN(spec).state_dict())


def test_separable_has_few_weights():
    assert weights(design="separable") < weights() / 5
    assert weights(design="residual") > weights()


@pytest.mark.parametrize("design", ["plain", "residual", "separable"])
def test_spec_round_trip_also_through_json(design):
    spec = CNNSpec(classes=3, channels=3, design=design, width=6, stages=3, depth=1, norm="none", pooling="mean")
    spec = spec.but(contrast=0.2, dense=7, places=(2, 3))
    model = from_spec(spec_from_dict(spec.to_dict()))
    assert isinstance(model, CNN)
    assert model.spec == spec
    assert model(torch.rand(2, 3, 9, 11)).shape == (2, 3)


@pytest.mark.parametrize("side", [4, 5, 7, 28, 33])
def test_any_size_from_the_least_on(side):
    assert CNN(classes=3, squares=2)(torch.rand(2, 1, side, side + 1)).shape == (2, 3)


def test_the_answer_to_a_shifted_image_is_the_same_by_whole_strides_alone(float64):
    """The maximum over all places does not ask where: a shift by the product of the strides, away from the borders."""
    torch.manual_seed(1)
    model = CNN(classes=3, width=4, depth=1, squares=2).eval()
    x = torch.zeros(1, 1, 64, 64)
    x[..., 24:36, 24:36] = torch.rand(12, 12)
    torch.testing.assert_close(model(x.roll((4, 8), (2, 3))), model(x))
    assert not torch.allclose(model(x.roll(1, 3)), model(x))


def test_every_feature_map_has_an_address():
    model, x = CNN(classes=3, width=4), torch.rand(2, 1, 8, 8)
    with cut.trace(model, "stages.*.*.output") as seen:
        model(x)
    assert [tuple(seen[a].shape) for a in seen] == [(2, 4, 8, 8), (2, 4, 8, 8), (2, 8, 4, 4), (2, 8, 4, 4)]


def test_without_norms_the_size_of_values_is_kept():
    torch.manual_seed(0)
    model = CNN(classes=3, channels=3, width=32, depth=6, stages=2, norm="none")
    with cut.trace(model, "stages.0.0.output", "stages.1.5.output") as seen:
        model(torch.randn(4, 3, 32, 32))
    assert 0.3 < seen["stages.1.5.output"].std() / seen["stages.0.0.output"].std() < 3


@pytest.mark.untyped
def test_messages():
    model = CNN(classes=3, squares=2)
    with pytest.raises(ValueError, match=r"\(batch, 1, height, width\) of at least 4 × 4 pixels, got \(2, 3, 8, 8\)"):
        model(torch.rand(2, 3, 8, 8))
    with pytest.raises(ValueError, match=r"got \(2, 1, 3, 8\); for one image use images\[None\]"):
        model(torch.rand(2, 1, 3, 8))
    with pytest.raises(ValueError, match=r"design must be one of plain, residual, separable, got 'dense'"):
        CNN(classes=3, design="dense")
    with pytest.raises(ValueError, match=r"contrast must be at least 0 and below 0.5, got 0.7; try contrast=0.3"):
        CNN(classes=3, contrast=0.7)
    with pytest.raises(ValueError, match=r"got dense=5, places=\(0, 2\); try dense=100, places=\(7, 7\)"):
        CNN(classes=3, dense=5, places=(0, 2))
    with pytest.raises(ValueError, match=r"norm must be one of batch, none, got 'layer'"):
        CNN(classes=3, norm="layer")


def test_the_filters_of_a_tuned_network_are_those_that_it_computes_with():
    model = cut.models.CNN(classes=3, width=8)
    before = model.pixel_filters()
    cut.lora(model, model.lora_targets, rank=2)
    torch.nn.init.normal_(model.stages[0][0].conv.updates("default")["whole"].b)
    during = model.pixel_filters()
    assert not torch.allclose(during, before)
    cut.merge(model)
    torch.testing.assert_close(model.pixel_filters(), during)
