"""A block of your own: written, registered, looked into, and put through the battery that ours go through."""

import torch
from torch import nn

import cutaway as cut


class Swish(nn.Module):
    """A smooth gate with a learned slope: y = x σ(βx). Ramachandran, Zoph, Le 2017. Taps: ``gate``, ``output``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(width))
        self.gate, self.output = cut.Tap(), cut.Tap()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g = torch.sigmoid(self.slope * x)
        if self.gate.live:
            g = self.gate(g)
        y = x * g
        if self.output.live:
            y = self.output(y)
        return y


# From here on `cutaway list blocks` shows it and the battery of tests knows it.
cut.register(Swish, example=lambda: (Swish(3), torch.randn(2, 5, 3)))

if __name__ == "__main__":
    network = nn.Sequential(cut.blocks.Dense(4, 8, None), Swish(8), cut.blocks.Linear(8, 1))
    x = torch.randn(5, 4)
    print(cut.addresses(network, x))

    with cut.trace(network, "1.gate") as seen:
        network(x)
    print("open gates:", (seen["1.gate"] > 0.5).float().mean().item())

    with cut.patch(network, {"1.gate": 1.0}):  # a gate that is always open: Swish becomes the identity
        y = network(x)
    print("same as no Swish:", torch.allclose(y, network[2](network[0](x))))
