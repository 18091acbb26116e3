"""Bottleneck adapters in a folder: the same outputs again, and another base refused."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import cutaway as cut

TOKENS = torch.arange(8).view(2, 4)


def gpt(seed=0):
    torch.manual_seed(seed)
    return cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4).eval()


def test_there_and_back(tmp_path):
    model, other = gpt(), gpt()
    cut.adapter(model, "blocks.*", width=3, train="norm")
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(torch.rand_like(p))
    cut.save_adapter(model, tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert (config["peft_type"], config["target_modules"], config["width"]) == (
        *("BOTTLENECK", ["blocks.0", "blocks.1"]),
        3,
    )
    summary = cut.load_adapter(other, tmp_path)
    assert summary.kind == "adapter"
    assert torch.equal(other(TOKENS), model(TOKENS))
    with pytest.raises(ValueError, match="belongs to the base that it was trained on"):
        cut.load_adapter(gpt(seed=1), tmp_path)


@pytest.mark.parametrize("key", ["target_modules", "width", "trained"])
def test_a_configuration_that_misses_a_key(key, tmp_path):
    model = gpt()
    cut.adapter(model, "blocks.*", width=3)
    cut.save_adapter(model, tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    del config[key]
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=f"adapter_config.json must have '{key}', got one without it"):
        cut.load_adapter(gpt(), tmp_path)


def test_tensors_that_miss_or_do_not_fit(tmp_path):
    model = gpt()
    cut.adapter(model, "blocks.*", width=3)
    cut.save_adapter(model, tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    whole, key = load_file(path), "base_model.model.blocks.1.adapters.up"
    for changed, message in (
        ({k: x for k, x in whole.items() if k != key}, r"must hold blocks\.1\.adapters\.up of \(3, 8\), got none"),
        (whole | {key: torch.zeros(3, 7)}, r"blocks\.1\.adapters\.up of \(3, 8\), got one of \(3, 7\)"),
    ):
        save_file(changed, path)
        other = gpt()
        with pytest.raises(ValueError, match=message):
            cut.load_adapter(other, tmp_path)
        assert all(p.requires_grad for p in other.parameters())  # nothing was put on
    save_file(whole, path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"trained": ["head.weight"]}))
    with pytest.raises(ValueError, match=r"got head\.weight trained beside it, which the model has not"):
        cut.load_adapter(gpt(), tmp_path)
