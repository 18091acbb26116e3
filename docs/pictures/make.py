"""Makes the pictures of the documentation: python docs/pictures/make.py"""

from pathlib import Path

import torch
import vl_convert
from torch import nn

import cutaway as cut

HERE = Path(__file__).parent


def regions() -> None:
    torch.manual_seed(3)
    network = nn.Sequential(
        cut.blocks.Dense(2, 12, cut.blocks.relu), cut.blocks.Dense(12, 8, cut.blocks.relu), cut.blocks.Linear(8, 1)
    )
    svg = cut.blocks.window_regions(network, (-3.0, -3.0), (3.0, 3.0)).to_svg()
    (HERE / "regions.png").write_bytes(vl_convert.svg_to_png(svg, scale=1.0))


if __name__ == "__main__":
    regions()
