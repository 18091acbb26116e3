"""LoRA on convolutions: the convolution with the update added, of every make, stride, dilation, padding and groups."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import Conv1d, Conv2d, Conv3d, DoRA, LoRA, LoRAConv, LowRank

# name → (layer, shape of an input)
CASES = {
    "torch 1d": (lambda: nn.Conv1d(3, 5, 3, padding=1), (2, 3, 11)),
    "torch 1d, circular, dilated": (
        lambda: nn.Conv1d(3, 5, 3, padding=2, dilation=2, padding_mode="circular"),
        (2, 3, 11),
    ),
    "torch 2d": (lambda: nn.Conv2d(3, 5, 3), (2, 3, 7, 8)),
    "torch 2d, stride, reflect, no bias": (
        lambda: nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 2), padding_mode="reflect", bias=False),
        (2, 3, 7, 8),
    ),
    "torch 2d, same, groups": (lambda: nn.Conv2d(6, 4, 3, padding="same", dilation=2, groups=2), (2, 6, 7, 8)),
    "torch 2d, depth-wise": (lambda: nn.Conv2d(4, 8, 3, padding=1, groups=4), (2, 4, 5, 6)),
    "torch 2d, one image": (lambda: nn.Conv2d(3, 5, 1), (3, 7, 8)),
    "torch 3d": (lambda: nn.Conv3d(2, 5, 2, stride=2, padding=1), (2, 2, 5, 4, 3)),
    "ours 1d, causal": (lambda: Conv1d(3, 5, 3, padding="causal", dilation=2), (2, 11, 3)),
    "ours 1d, groups, many axes": (lambda: Conv1d(4, 6, 3, groups=2, stride=2, bias=False), (2, 3, 11, 4)),
    "ours 2d, reflect": (lambda: Conv2d(3, 5, 3, "reflect", stride=2), (2, 2, 3, 7, 8)),
    "ours 2d, depth-wise": (lambda: Conv2d(4, 4, 3, groups=4, dilation=2), (2, 4, 7, 8)),
    "ours 3d, valid": (lambda: Conv3d(2, 5, 2, "valid"), (2, 2, 5, 4, 3)),
}  # fmt: skip


def wrapped(case, kind=LowRank, rank=2):
    torch.manual_seed(0)
    make, shape = CASES[case]
    layer = LoRAConv(make().double(), rank=0)
    update = kind(layer.inputs, layer.outputs, rank, alpha=3)
    layer.add(
        "default", {"whole": update.measure(torch.randn(layer.inputs, layer.outputs)) if kind is DoRA else update}
    )
    nn.init.normal_(update.b)
    return layer.double(), torch.randn(shape, dtype=torch.float64)


def test_by_hand():
    conv = nn.Conv1d(1, 2, 2, bias=False)
    layer = LoRAConv(conv, rank=1, alpha=2)
    update = layer.updates("default")["whole"]
    with torch.no_grad():
        conv.weight.zero_()
        update.a.copy_(torch.tensor([[1.0], [-1.0]]))  # x_t − x_{t+1}
        update.b.copy_(torch.tensor([[1.0, 3.0]]))
    # differences −2, 5; α / r = 2
    assert layer(torch.tensor([[1.0, 3.0, -2.0]])).tolist() == [[-4.0, 10.0], [-12.0, 30.0]]


@pytest.mark.parametrize("kind", [LowRank, DoRA])
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_convolution_with_the_update_added(case, kind):
    layer, x = wrapped(case, kind)
    y, before = layer(x), layer.base(x)
    assert (y - before).abs().max() > 0.1
    with torch.no_grad():
        layer.base.weight.copy_(layer.merged_weight())
    torch.testing.assert_close(y, layer.base(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", ["torch 2d, same, groups", "ours 1d, causal", "torch 3d"])
def test_gradients(case):
    layer, x = wrapped(case)
    update = layer.updates("default")["whole"]

    def f(x, a, b):
        tensors = {"lora.default.whole.a": a, "lora.default.whole.b": b}
        return torch.func.functional_call(layer, tensors, (x,))

    x, a, b = x.requires_grad_(), update.a.detach().requires_grad_(), update.b.detach().requires_grad_()
    assert torch.autograd.gradcheck(f, (x, a, b), fast_mode=True)


@pytest.mark.parametrize("kind", [LowRank, DoRA])
def test_rows_of_a_padded_batch_are_as_if_alone(kind):
    layer, x = wrapped("ours 1d, causal", kind)
    lengths = torch.tensor([11, 4])
    y = layer(x, lengths=lengths)
    torch.testing.assert_close(y[1, :4], layer(x[1, :4]))
    assert torch.equal(y[1, 4:], torch.zeros(7, 5).double())


def test_what_is_seen_and_changed_inside():
    layer, x = wrapped("ours 2d, depth-wise")
    with cut.trace(layer, "**") as seen:
        y = layer(x)
    assert torch.equal(seen["output"], y)  # the layer's own tap: what leaves it
    assert seen["lora.default.whole.low"].shape == (2, 4 * 2, 7, 8)  # two maps a group
    torch.testing.assert_close(seen["lora.default.whole.update"], y - layer.base(x))
    with cut.patch(layer, {"lora.default.whole.update": lambda change: 0 * change}):
        torch.testing.assert_close(layer(x), layer.base(x))
    layer.choose([])
    assert torch.equal(layer(x), layer.base(x))


def test_in_half_precision_the_update_stays_in_single():
    layer = LoRAConv(nn.Conv2d(3, 5, 3).to(torch.bfloat16), rank=2)
    assert layer.updates("default")["whole"].a.dtype == torch.float32
    assert layer(torch.randn(1, 3, 5, 5, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"LoRAConv wraps a convolution, Conv1d to Conv3d, got Linear; .* use LoRA"):
        LoRAConv(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="got ConvTranspose2d"):
        LoRAConv(nn.ConvTranspose2d(2, 2, 3))
    with pytest.raises(ValueError, match="got LazyConv2d"):
        LoRAConv(nn.LazyConv2d(2, 3))
    with pytest.raises(ValueError, match="LoRA wraps a linear layer, got Conv2d; use LoRAConv"):
        LoRA(Conv2d(2, 3))
    with pytest.raises(ValueError, match=r"rank must be at most .* got rank=5 for 4 × 8; try rank=4"):
        LoRAConv(Conv2d(4, 8, kernel=1), rank=5)
