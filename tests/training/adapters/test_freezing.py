"""Freezing by address: what may change, what cannot be named, and that optimizers and autograd leave the rest out."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.training import build_optimizers
from cutaway.training.adapters.freezing import hold_statistics


def gpt():
    return cut.models.GPT(vocabulary=11, width=8, depth=3, heads=2, context=4)


def trained(model):
    return {name for name, p in model.named_parameters() if p.requires_grad}


def test_all_but_some():
    model = gpt()
    share = cut.freeze(model, but=["blocks.2.mlp", "norm.weight"])
    assert trained(model) == {f"blocks.2.mlp.{m}.{p}" for m in ("up", "down") for p in ("weight", "bias")} | {
        "norm.weight"
    }
    assert share.trainable == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert share.parameters == sum(p.numel() for p in model.parameters())
    assert str(share) == f"{share.trainable:,} of {share.parameters:,} parameters can be trained " + (
        f"({100 * share.share:.2f} %)"
    )


def test_some_stay_as_they_are():
    model = gpt()
    cut.freeze(model, ["embed", "blocks.0.**", "blocks.*.*.*.bias"])
    left = trained(model)
    assert "embed.weight" not in left
    assert not any(name.startswith("blocks.0") for name in left)
    assert "blocks.1.mlp.up.bias" not in left
    assert {"blocks.1.mlp.up.weight", "norm.bias", "position.weight"} <= left
    cut.freeze(model, (), but="embed")
    assert trained(model) == left | {"embed.weight"}


def test_frozen_parts_have_no_gradient_and_no_optimizer_state():
    model = gpt()
    tokens = torch.randint(11, (2, 4))
    model(tokens).sum().backward()
    cut.freeze(model, but="blocks.2")
    assert {name for name, p in model.named_parameters() if p.grad is not None} == trained(model)
    model.zero_grad()
    for name in ("adamw", "muon", "sgd"):
        optimizers = build_optimizers(model, name, 0.01, weight_decay=0.1)
        before = {name: p.clone() for name, p in model.named_parameters()}
        model(tokens).square().sum().backward()
        assert {name for name, p in model.named_parameters() if p.grad is not None} == trained(model)
        for optimizer in optimizers:
            optimizer.step()
        held = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
        assert held == {id(p) for p in model.parameters() if p.requires_grad}
        for name, p in model.named_parameters():  # weight decay does not reach them either
            assert torch.equal(p, before[name]) is not p.requires_grad


def test_what_names_nothing_is_refused():
    with pytest.raises(ValueError, match=r"name parameters or what holds some, got 'blocs.0'; .* blocks.0"):
        cut.freeze(gpt(), "blocs.0")
    with pytest.raises(ValueError, match=r"got 'head\.\*\*'"):
        cut.freeze(gpt(), but="head.**")


@pytest.mark.untyped
def test_parts_are_texts_and_models_modules():
    with pytest.raises(ValueError, match="must be an address or a glob, got 5"):
        cut.freeze(gpt(), [5])
    with pytest.raises(ValueError, match=r"a model must be a torch.nn.Module, got int"):
        cut.freeze(3)


def test_training_a_wholly_frozen_model_is_refused():
    model = gpt()
    assert cut.freeze(model).share == 0
    with pytest.raises(ValueError, match="training needs parameters that may change, got none"):
        build_optimizers(model, "adamw", 0.01)


def test_frozen_norms_keep_their_statistics():
    model = nn.Sequential(nn.BatchNorm1d(3), cut.blocks.BatchNorm(3), nn.Dropout(0.5), nn.BatchNorm1d(3)).train()
    cut.freeze(model, ["0", "1"])
    hold_statistics(model)
    assert [module.training for module in model] == [False, False, True, True]
    model(torch.randn(8, 3) + 5)
    assert model[0].running_mean.abs().sum() == model[1].running_mean.abs().sum() == 0 < model[3].num_batches_tracked
