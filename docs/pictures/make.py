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


def graph() -> None:
    torch.manual_seed(0)
    model = cut.models.GPT(vocabulary=50, width=64, depth=12, heads=4, context=32)
    g = cut.graph(model, torch.randint(50, (1, 16))).backward(delta="ones")
    (HERE / "graph.png").write_bytes(cut.look.graph_picture(g, title="A GPT of twelve layers").to_png(scale=1))


if __name__ == "__main__":
    regions()
    graph()
