"""Receptive fields beside brute force: a pixel that is not a number makes every unit that reads it not a number."""

import numpy as np
import pytest
import torch
from torch import nn

from cutaway.blocks import GRU, LSTM, RNN, stack_reach
from cutaway.look.images.receptive_fields import (
    ReceptiveField,
    _unit,
    _value,
    effective_field,
    field_picture,
    receptive_field,
)
from cutaway.models import CNN, ViT


def brute(model: nn.Module, size: tuple[int, int], at: str = "", place: tuple[int, ...] | None = None) -> np.ndarray:
    """Every pixel in turn is made not a number."""
    model.eval()
    height, width = size
    x = torch.rand(height * width, 1, height, width)
    x[torch.arange(height * width), 0, torch.arange(height * width) // width, torch.arange(height * width) % width] = (
        torch.nan
    )
    with torch.no_grad():
        unit, _ = _unit(_value(model, x, at), place, at)
    return unit.isnan().flatten(1).any(1).reshape(height, width).numpy()


class Branches(nn.Module):
    """Two branches of different reach, joined, gated and added to what was there."""

    def __init__(self) -> None:
        super().__init__()
        self.near = nn.Conv2d(1, 2, 3, padding=1)
        self.far = nn.Conv2d(1, 2, 3, padding=4, dilation=4)
        self.gate = nn.Conv2d(4, 4, (1, 5), padding=(0, 2))

    def forward(self, x):
        y = torch.cat([self.near(x).relu(), torch.tanh(self.far(x))], 1)
        return x + (y * torch.sigmoid(self.gate(y))).mean(1, keepdim=True)


class InPlace(nn.Module):
    """Changes tensors in place."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)
        y.relu_()
        y += x
        y.mul_(0.5)
        y[:, :, 0] = 0
        return nn.functional.max_pool2d(y, 3, 2, 1, dilation=2)


class WithAttention(nn.Module):
    """Each row of pixels attends to the rows before it."""

    def forward(self, x):
        rows = x[:, 0]
        y = nn.functional.scaled_dot_product_attention(rows, rows, rows, is_causal=True)
        return nn.functional.layer_norm(y, y.shape[-1:])[:, None]


MODELS = {
    "plain": (lambda: CNN(classes=3, width=4, squares=2), "stages.1.0.output", (12, 14)),
    "residual": (lambda: CNN(classes=3, width=4, design="residual", stages=1), "stages.0.1.output", (20, 11)),
    "separable": (lambda: CNN(classes=3, width=4, design="separable"), "stages.1.1.output", (16, 16)),
    "branches": (Branches, "", (15, 13)),
    "in place": (InPlace, "", (12, 12)),
    "pooled": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 5, stride=2, padding_mode="reflect", padding=2),
            nn.BatchNorm2d(4),
            nn.GELU(),
            nn.AvgPool2d(3, 2, ceil_mode=True),
            nn.Conv2d(4, 4, 3, groups=2),
            nn.Upsample(scale_factor=2),
            nn.ConvTranspose2d(4, 2, 3, stride=2),
        ),
        "",
        (19, 17),
    ),
    "adaptive": (lambda: nn.Sequential(nn.AdaptiveMaxPool2d(3), nn.Softplus(), nn.Softmax(1)), "", (10, 8)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("corner", [False, True])
def test_equal_to_brute_force(name: str, corner: bool):
    torch.manual_seed(0)
    make, at, size = MODELS[name]
    model = make()
    place = (0, 1) if corner else None
    found = receptive_field(model, torch.zeros(1, 1, *size), at, place)
    assert np.array_equal(found.reads, brute(model, size, at, place))


def test_attention_reads_what_it_may_see():
    """Beside the true derivative, as 0 · NaN is NaN."""
    x = torch.rand(1, 1, 6, 5, dtype=torch.float64, requires_grad=True)
    for row in range(6):
        (slope,) = torch.autograd.grad(WithAttention()(x)[0, 0, row, 2], x)
        assert np.array_equal(receptive_field(WithAttention(), x, place=(row, 2)).reads, (slope[0, 0] != 0).numpy())


def test_a_stack_agrees_with_its_formula():
    stack = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Conv2d(2, 2, 3, dilation=2), nn.ReLU(), nn.Conv2d(2, 2, 5, stride=2)
    )
    reach = stack_reach([3, (2, 2), (3, 1, 2), (5, 2)])
    field = receptive_field(stack, torch.zeros(1, 1, 50, 60))
    assert field.size == (reach.size, reach.size)
    next_one = receptive_field(stack, torch.zeros(1, 1, 50, 60), place=(field.place[0], field.place[1] + 1))
    assert next_one.box[1] - field.box[1] == reach.stride
    assert field.reads.all() == (field.reads.sum() == 50 * 60)


def test_a_transformer_reads_a_patch_first_and_then_all():
    model = ViT(image=12, patch=3, width=8, depth=1, heads=2, classes=3, channels=1)
    x = torch.zeros(1, 1, 12, 12)
    assert receptive_field(model, x, "patches.output", 5).box == (3, 3, 6, 6)
    assert receptive_field(model, x, "blocks.0", 5).size == (12, 12)
    assert receptive_field(model, x).size == (12, 12)


class Rows(nn.Module):
    """A module on the rows of pixels as steps or tokens."""

    def __init__(self, module: nn.Module, *, causal: bool = False) -> None:
        super().__init__()
        self.module, self.causal = module, causal

    def forward(self, x):
        rows = x[:, 0]
        if not isinstance(self.module, nn.MultiheadAttention):
            y = self.module(rows)
        elif self.causal:
            mask = nn.Transformer.generate_square_subsequent_mask(rows.shape[1]).to(rows)
            y = self.module(rows, rows, rows, need_weights=False, attn_mask=mask)
        else:
            y = self.module(rows, rows, rows)
        return (y[0] if isinstance(y, tuple) else y)[:, None]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torchs_own_attention(dtype: torch.dtype, frozen: bool):
    layers = [nn.MultiheadAttention(6, 2, batch_first=True), nn.TransformerEncoderLayer(6, 2, batch_first=True)]
    for layer in layers:
        model = Rows(layer).to(dtype).requires_grad_(not frozen)
        field = receptive_field(model, torch.zeros(1, 1, 5, 6))
        assert field.exact
        assert field.reads.all()
        assert torch.backends.mha.get_fastpath_enabled()
    causal = receptive_field(Rows(layers[0], causal=True), torch.zeros(1, 1, 5, 6), place=(2, 1))
    assert causal.box == (0, 0, 3, 6)


@pytest.mark.parametrize("family", [nn.LSTM, nn.GRU, nn.RNN, LSTM, GRU, RNN])
def test_recurrent_layers_read_what_came_before(family: type[nn.Module]):
    options = {"batch_first": True} if family.__module__.startswith("torch") else {}
    model = Rows(family(6, 6, bidirectional=True, **options))
    for feature, box in ((1, (0, 0, 3, 6)), (7, (2, 0, 5, 6))):  # forwards, backwards
        field = receptive_field(model, torch.zeros(1, 1, 5, 6), place=(2, feature))
        assert field.exact
        assert field.box == box


class Chooses(nn.Module):
    """Values that a convolution's pixels are compared with, or chosen by, and no derivative tells."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def forward(self, x):
        flat = x.flatten(1)
        match self.how:
            case "sort":
                return x.sort(-1)[0]
            case "topk":
                return x.topk(3, -1)[0]
            case "kthvalue":
                return x * (x >= flat.kthvalue(5)[0][:, None, None, None])
            case "quantile":
                return x.masked_fill(x < flat.quantile(0.5, 1)[:, None, None, None], 0)
            case "cummax":
                return x.cummax(-1)[0]
            case "where":
                return torch.where(x > x.roll(2, -1), x, 0.0)
            case "non-maximum suppression":
                return x * (nn.functional.max_pool2d(x, 3, 1, 1) == x)
            case "argmax":
                return x.gather(-1, x.argmax(-1, keepdim=True))
            case "sign":
                return x.sign() * x.detach().round()
            case "svd":
                return torch.linalg.svd(x)[0]
            case _:
                return x * (1.0 if x.mean() > 0 else 2.0)


@pytest.mark.parametrize(
    ("how", "size", "unknown"),
    [
        ("sort", (1, 8), ()),
        ("topk", (1, 8), ()),
        ("kthvalue", (8, 8), ()),
        ("quantile", (8, 8), ()),
        ("cummax", (1, 5), ()),
        ("where", (1, 3), ()),
        ("non-maximum suppression", (3, 3), ()),
        ("argmax", (1, 8), ()),
        ("sign", (1, 1), ()),
        ("svd", (8, 8), ("_linalg_svd",)),
        ("branch", (8, 8), ("item",)),
    ],
)
def test_values_that_choose_and_compare_are_read(how: str, size: tuple[int, int], unknown: tuple[str, ...]):
    field = receptive_field(Chooses(how), torch.randn(1, 1, 8, 8))
    assert (field.size, field.unknown, field.exact) == (size, unknown, not unknown)
    most = f"at most 64 pixels in a box of 8 × 8 (conservative: operations not known: {', '.join(unknown)})"
    assert str(field) == (f"reads {most}" if unknown else f"reads {field.reads.sum()} pixels in a box of "
                          f"{size[0]} × {size[1]}")  # fmt: skip


def test_a_picture_says_where_it_is_an_upper_bound():
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), Chooses("svd"), nn.ReLU())
    picture = field_picture(model, torch.rand(2, 1, 8, 8), ["0", "2"])
    words = [row["text"] for row in picture.spec()["datasets"]["words"]]
    assert words[:2] == ["3×3 pixels", "≤ 8×8 pixels"]
    assert picture.alt.endswith("2 reads a box of at most 8×8 pixels.")
    assert "At most (≤) where operations are not known: _linalg_svd." in picture.caption


def test_a_unit_that_reads_nothing():
    field = receptive_field(nn.Sequential(nn.Conv2d(1, 1, 1), nn.ZeroPad2d(2)), torch.zeros(1, 1, 4, 4), place=(0, 0))
    assert field.box is None
    assert field.size == (0, 0)


def test_the_model_is_left_as_it_was():
    model = CNN(classes=3, width=4)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    receptive_field(model, torch.zeros(1, 1, 8, 8))
    effective_field(model, torch.rand(2, 1, 8, 8))
    assert model.training
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_the_effective_field_of_one_convolution_is_the_size_of_its_weights(float64):
    conv = nn.Conv2d(1, 1, 3, padding=1)
    found = effective_field(conv, torch.rand(2, 1, 7, 7))
    weights = conv.weight[0, 0].abs().detach()
    np.testing.assert_allclose(found[2:5, 2:5], (weights / weights.sum()).numpy())
    assert found.sum() == pytest.approx(1)


def test_the_effective_field_lies_inside_the_exact_one_and_peaks_in_the_middle():
    torch.manual_seed(0)
    stack = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Conv2d(1, 1, 3, padding=1),)])
    for conv in stack:
        nn.init.constant_(conv.weight, 1 / 9)
    images = torch.rand(4, 1, 21, 21)
    exact, found = receptive_field(stack, images), effective_field(stack, images)
    assert exact.size == (13, 13)
    assert not found[~exact.reads].any()
    assert found.argmax() == 10 * 21 + 10
    assert found[10, 10] > 20 * found[4, 10]


def test_the_picture_says_how_large_the_fields_are():
    model = CNN(classes=3, width=4, stages=1)
    picture = field_picture(model, torch.rand(3, 1, 16, 16), model.feature_maps)
    words = [row["text"] for row in picture.spec()["datasets"]["words"]]
    assert words[:2] == ["3×3 pixels", "5×5 pixels"]
    assert "stages.0.1.output reads a box of 5×5 pixels" in picture.alt


def test_the_box_by_hand():
    reads = np.zeros((5, 6), bool)
    reads[1, 2] = reads[3, 4] = True
    assert ReceptiveField(reads, (0,), (1,)).box == (1, 2, 4, 5)


@pytest.mark.untyped
def test_messages():
    model = CNN(classes=3, width=4)
    x = torch.zeros(1, 1, 8, 8)
    with pytest.raises(ValueError, match=r"inside the map 8 × 8 of 'stages.0.0.output', got \(8, 0\); try \(4, 4\)"):
        receptive_field(model, x, "stages.0.0.output", (8, 0))
    with pytest.raises(ValueError, match=r"that of one value, got 'stages.\*.\*.output' for 4: stages.0.0.output"):
        receptive_field(model, x, "stages.*.*.output")
    with pytest.raises(ValueError, match=r"channels, height, width\), got \(1, 8, 8\) of torch.float32; for one"):
        receptive_field(model, x[0])
