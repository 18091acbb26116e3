"""Small graphs that several tests draw, and the parts of a drawing by name."""

from xml.etree import ElementTree

import torch
from torch import Tensor, nn

from cutaway.look.graph_drawing.coordinates import Box, Placed
from cutaway.look.graph_drawing.svg import Drawing
from cutaway.look.graphs import Graph, graph

EVIL = '<script>alert("1")</script>&amp;</style><!--'
SPACE = "{http://www.w3.org/2000/svg}"


def neuron() -> Graph:
    """σ(w x + b) with w = 0.5, x = 2, b = −1, so that σ(0) = 0.5 and δ = 0.25 before it."""
    w, x, b = (torch.tensor(number, requires_grad=True) for number in (0.5, 2.0, -1.0))
    return graph(lambda w, x, b: torch.sigmoid(w * x + b), w, x, b).backward()


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tanh(self.inner(x))


class Tower(nn.Module):
    """Blocks that are the same, between two layers; the last layer's weights are the first one's."""

    def __init__(self, depth: int = 4, width: int = 5) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return nn.functional.linear(x, self.embed.weight)


def tower(depth: int = 4) -> Graph:
    return graph(Tower(depth), torch.arange(6).reshape(2, 3)).backward(delta="ones")


class Named(nn.Module):
    """Names that would do harm if anybody took them for more than words."""

    def __init__(self) -> None:
        super().__init__()
        self.add_module(f"inner {EVIL}", nn.Linear(2, 2))
        self.register_parameter(EVIL, nn.Parameter(torch.ones(2)))

    def forward(self, x: Tensor) -> Tensor:
        (inner,) = self.children()
        return inner(x) * self._parameters[EVIL]


def slots_in(svg: str, kind: str = "box") -> list[str]:
    """The slots of what is drawn, in order."""
    groups = ElementTree.fromstring(svg).iter(f"{SPACE}g")
    return [
        g.attrib["data-slot"] for g in groups if kind in g.attrib.get("class", "").split() and "data-slot" in g.attrib
    ]


def all_boxes(drawing: Drawing) -> list[tuple[str, Box, Box]]:
    """Each box and label drawn, with the frame that it stands in."""
    found = []

    def walk(placed: Placed, frame: Box) -> None:
        for slot, box in placed.boxes.items():
            if box.width:
                found.append((slot, box, frame))
        for slot, inner in placed.inner.items():
            walk(inner, placed.boxes[slot])

    walk(drawing.placed, Box(0, 0, drawing.placed.width, drawing.placed.height))
    return found


def overlap(one: Box, other: Box) -> bool:
    apart = 1e-6
    across = one.left + one.width > other.left + apart and other.left + other.width > one.left + apart
    return across and one.bottom > other.top + apart and other.bottom > one.top + apart
