"""Bottleneck adapters in a folder: the same outputs again, and another base refused."""

import json

import pytest
import torch

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
