"""Initialisation and gradient flow in a network of 50 layers: what vanishes, what explodes, what keeps, what cures.

python examples/gradient_flow.py [folder for the pictures]
"""

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

import cutaway as cut

DEPTH, WIDTH, BATCH = 50, 64, 128
blocks = cut.blocks


def network(activation: type[nn.Module], initialiser: str, scale: float = 1.0, residual: bool = False) -> nn.Sequential:
    """50 layers x ← φ(x W), with the weights of the initialiser times ``scale``; or x ← x + φ(x W)."""
    layers: list[nn.Module] = []
    for _ in range(DEPTH):
        layer = nn.Sequential(blocks.Linear(WIDTH, WIDTH, bias=False), activation())
        layers.append(blocks.Residual(layer) if residual else layer)
    model = nn.Sequential(*layers)
    blocks.initialise(model, initialiser)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= scale
    return model


def flow_of(model: nn.Module) -> cut.look.Flow:
    """Values forwards, gradients backwards, for one batch of noise; nothing is trained."""
    torch.manual_seed(1)
    with cut.flow(model) as flow:
        (model(torch.randn(BATCH, WIDTH)) * torch.randn(BATCH, WIDTH)).mean().backward()
    return flow


def main(folder: Path) -> None:
    torch.manual_seed(0)
    networks = {
        # Variance × ½ in every rectifier: fan in = 1/i loses it, Kaiming = 2/i keeps it, twice that blows up.
        "relu, fan in": network(nn.ReLU, "fan_in"),
        "relu, Kaiming": network(nn.ReLU, "kaiming_normal"),
        "relu, 2 × Kaiming": network(nn.ReLU, "kaiming_normal", scale=2.0),
        # Orthogonal weights keep lengths exactly, and tanh takes off a little. Ten times as large, they saturate it.
        "identity, orthogonal": network(nn.Identity, "orthogonal"),
        "tanh, orthogonal": network(nn.Tanh, "orthogonal"),
        "tanh, 10 × orthogonal": network(nn.Tanh, "orthogonal", scale=10.0),
        # σ′ ≤ ¼: each layer takes three quarters of δ, however good its weights; a way around the layer takes nothing.
        "logistic, orthogonal": network(nn.Sigmoid, "orthogonal"),
        "logistic, residual": network(nn.Sigmoid, "orthogonal", residual=True),
    }
    print(f"{'network of 50 layers':<24}{'values: first → last':<26}δ: last → first")
    for name, model in networks.items():
        flow = flow_of(model)
        linear = [row for row in flow.layers if row.kind == "Linear"]
        first, last = linear[0], linear[-1]
        assert first.delta is not None
        assert last.delta is not None
        values = f"{first.activation:.1e} → {last.activation:.1e}"
        print(f"{name:<24}{values:<26}{last.delta:.1e} → {first.delta:.1e}")
        for sentence in flow.verdict[:3]:
            print(f"    {sentence}")
        flow.picture().save(folder / f"{name.replace(', ', '-').replace(' × ', 'x').replace(' ', '-')}.svg")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
