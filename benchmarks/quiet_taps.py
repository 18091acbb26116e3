"""What taps cost while nobody looks: a network with them and without. Aim: 1.02 at width 256, 1.10 at width 32."""

import copy

import torch
from timing import compare, show
from torch import nn

from cutaway.blocks import Dense
from cutaway.inside.taps import Tap
from cutaway.models import GPT


def without_taps(model: nn.Module) -> nn.Module:
    """The same model with every tap replaced by one that is never live and costs an attribute lookup."""

    class Nothing:
        live = edited = False

    for module in model.modules():
        for name, child in list(module._modules.items()):
            if isinstance(child, Tap):
                del module._modules[name]
                object.__setattr__(module, name, Nothing())
    return model


def mlp(width: int) -> float:
    tapped = nn.Sequential(*[Dense(width, width, torch.relu) for _ in range(20)])
    plain = without_taps(copy.deepcopy(tapped))
    x = torch.randn(128, width)
    run = lambda model: model(x).sum().backward()
    times = compare({"tapped": lambda: run(tapped), "plain": lambda: run(plain)}, repeats=41, number=3)
    return times["tapped"] / times["plain"]


def transformer(width: int) -> float:
    sizes = dict(vocabulary=65, width=width, depth=4, heads=4, context=64)
    tapped, plain = GPT(**sizes), without_taps(GPT(**sizes))
    tokens = torch.randint(65, (max(1, 128 // 64), 64))
    run = lambda model: model(tokens).sum().backward()
    times = compare({"tapped": lambda: run(tapped), "plain": lambda: run(plain)}, repeats=41, number=2)
    return times["tapped"] / times["plain"]


def main() -> None:
    torch.manual_seed(0)
    show(
        "Quiet taps: time with taps / without, forward and backward",
        [
            ("20-layer MLP, width 256, batch 128 (aim ≤ 1.02)", f"{mlp(256):.3f}"),
            ("20-layer MLP, width 32, batch 128 (aim ≤ 1.10)", f"{mlp(32):.3f}"),
            ("4-layer GPT, width 256, 128 tokens (aim ≤ 1.02)", f"{transformer(256):.3f}"),
            ("4-layer GPT, width 32, 128 tokens (aim ≤ 1.10)", f"{transformer(32):.3f}"),
        ],
    )


if __name__ == "__main__":
    main()
