"""What a unit inside a network sees of an image: by formula, exactly for any network, and how much pixels matter."""

import torch
from torch import nn

import cutaway as cut


class Inception(nn.Module):
    """Two branches of different reach, joined and added to the input: no formula for stacks fits it."""

    def __init__(self) -> None:
        super().__init__()
        self.near = nn.Conv2d(1, 4, 3, padding=1)
        self.far = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 5, padding=6, dilation=3))
        self.join = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.join(torch.cat([self.near(x), self.far(x)], 1)).relu()


if __name__ == "__main__":
    print("two convolutions of width 3:", cut.blocks.stack_reach([3, 3]))
    print("with a pooling between two pairs:", cut.blocks.stack_reach([3, 3, (2, 2), 3, 3]))

    torch.manual_seed(0)
    images, model = torch.rand(16, 1, 33, 33), Inception()
    field = cut.look.receptive_field(model, images)
    print(f"the middle pixel of two branches reads a box of {field.size}, {int(field.reads.sum())} pixels of it")
    corner = cut.look.receptive_field(model, images, place=(0, 0))
    print(f"in the corner, where the image ends, a box of {corner.size}")

    deep = nn.Sequential(*[nn.Conv2d(1 if not i else 8, 8, 3, padding=1) for i in range(6)])
    size, heat = cut.look.receptive_field(deep, images).size, cut.look.effective_field(deep, images)
    middle = heat[14:19, 14:19].sum()
    print(f"six convolutions read {size}, but the 5 × 5 pixels in the middle make {middle:.0%} of the difference")
