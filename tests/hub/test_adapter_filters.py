"""Updates of convolutions in peft's layout, both ways: equal outputs in float64; what peft cannot hold is said."""

import copy
import math
import warnings

import peft
import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.hub.adapter_filters import Factors, Filters, factors_from_file, factors_in_file

X = torch.randn(2, 3, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


class Net(nn.Module):
    """Torch's convolutions over one, two and three axes, and a head."""

    def __init__(self, groups=1):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.second = nn.Conv2d(8, 4, (1, 3), padding="same", groups=groups, bias=False)
        self.line = nn.Conv1d(4, 6, 3)
        self.volume = nn.Conv3d(1, 4, 2)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.line(self.second(self.stem(x).relu()).relu().flatten(2)).relu()
        return self.head(self.volume(x[:, None, :, :, None].expand(-1, -1, -1, -1, 2)).mean((2, 3, 4)))


CONVOLUTIONS = ["stem", "second", "line", "volume"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def draw(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad and not ("lora_A" in name or name.endswith(".a")):
                p.add_(torch.rand_like(p))
    return model.eval()


def net(groups=1):
    torch.manual_seed(0)
    return Net(groups).double()


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize(("groups", "dora"), [(1, False), (1, True), (2, False)])
def test_peft_loads_ours_and_we_load_it_again(groups, dora, rooted, tmp_path):
    model = net(groups)
    cut.lora(model, CONVOLUTIONS, rank=2, alpha=5, biases="lora", train="head", dora=dora, rooted=rooted)
    expected = draw(model)(X)
    assert (expected - net(groups)(X)).abs().max() > 0.05
    cut.save_adapter(model, tmp_path)
    theirs = peft.PeftModel.from_pretrained(net(groups), tmp_path).eval()
    torch.testing.assert_close(theirs(X), expected, rtol=1e-12, atol=1e-12)
    again = net(groups)
    cut.load_adapter(again, tmp_path)
    torch.testing.assert_close(again(X), expected, rtol=1e-12, atol=1e-12)
    assert again.second.updates("default")["whole"].rank == 2


@pytest.mark.parametrize("dora", [False, True])
def test_we_load_what_peft_wrote(dora, tmp_path):
    config = peft.LoraConfig(r=3, lora_alpha=4, target_modules=CONVOLUTIONS, use_dora=dora, modules_to_save=["head"])
    theirs = draw(peft.get_peft_model(net(), config))
    theirs.save_pretrained(tmp_path)
    model = net()
    cut.load_adapter(model, tmp_path)
    torch.testing.assert_close(model(X), theirs(X), rtol=1e-12, atol=1e-12)
    cut.merge(model)
    torch.testing.assert_close(model(X), theirs(X), rtol=1e-12, atol=1e-12)


def test_what_peft_learns_for_groups_fits_no_convolution_in_groups(tmp_path):
    config = peft.LoraConfig(r=2, target_modules=["second"])
    draw(peft.get_peft_model(net(2), config)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"must have the same filters for each, got others for second; such an update"):
        cut.load_adapter(net(2), tmp_path)


def test_dilation_and_padding_modes_that_peft_leaves_out_are_said(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")).double()
    cut.lora(model, "0", rank=2)
    with pytest.warns(UserWarning, match=r"peft leaves out dilation and padding mode .* 0 has .*'reflect'"):
        cut.save_adapter(draw(model), tmp_path)
    fresh = copy.deepcopy(model)
    cut.remove_adapter(fresh)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file of ours means the same to us
        cut.load_adapter(fresh, tmp_path)
    assert torch.equal(fresh(X), model(X))


def test_our_cnn_keeps_its_adapter(tmp_path):
    torch.manual_seed(0)
    model = cut.models.CNN(classes=3, design="separable", width=8, stages=2, depth=2).double().eval()
    base, images = copy.deepcopy(model), torch.rand(2, 1, 9, 8, dtype=torch.float64)
    cut.lora(model, "stages", rank=2, train="head")
    expected = draw(model)(images)
    cut.save_adapter(model, tmp_path)
    cut.load_adapter(base, tmp_path)
    torch.testing.assert_close(base(images), expected, rtol=1e-12, atol=1e-12)


def test_the_same_filters_for_every_group():
    update = cut.blocks.LowRank(2 * 3, 4, 1, alpha=3.0, rooted=True)
    nn.init.normal_(update.b)
    file = factors_in_file(update, Filters((2, 3), groups=2))
    assert file.a.shape == (2, 4, 3)
    assert file.b.shape == (4, 1, 1)
    assert torch.equal(file.a[0, :2], file.a[1, 2:])
    assert file.a[0, 2:].abs().sum() == file.a[1, :2].abs().sum() == 0
    assert file.alpha / math.sqrt(file.rank) == pytest.approx(update.scale)
    back = factors_from_file(file, Filters((2, 3), 2), rooted=True, module="m")
    assert torch.equal(back.a, update.a.T)
    assert (back.rank, back.alpha) == (1, pytest.approx(3.0))
    with pytest.raises(ValueError, match=r"must fit its model, got \(2, 4, 3\) for the \(4, 5\) of m"):
        factors_from_file(Factors(file.a, file.b, 2, 1.0), Filters((2, 5), 2), False, "m")
