r"""Structural encodings tell a vertex where in its graph it stands, as positions do in a sequence.

    q_v = (Q_{v1} s_1, …, Q_{vk} s_k)        Laplacian: its entries of the first eigenvectors; the signs s mean nothing
    r_v = ((P)_{vv}, …, (P^k)_{vv})          random walk: the chance to be back after 1 … k steps, P = D⁻¹A

An eigenvector may be turned round, so in training every sign is drawn anew, ±1, for each graph. Dwivedi, Bresson 2021;
Dwivedi et al. 2022. Notes: N3 §7.3, §7.10.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graph_layers.graph_transformer import vertex_places
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import expect_rows, expect_unsigned
from cutaway.blocks.graphs.neighbours import order_weights, sum_weighted
from cutaway.inside.taps import Tap
from cutaway.overriding import override

COLUMNS = 256  # walks from so many vertices of a graph are followed at a time


def random_walk_encoding(graph: Graph, steps: int, dtype: torch.dtype = torch.float32) -> Float[Tensor, "n k"]:
    """((P)_vv, …, (P^k)_vv): the chance that a random walk from v is at v again after 1 … k steps.

    Walks of different graphs never meet, so one from each is followed in the same column: time grows with the edges
    times the vertices of the largest graph.

    >>> random_walk_encoding(Graph(torch.tensor([[0, 1], [1, 2]])), 2)  # a path: never back after 1 step
    tensor([[0.0000, 0.5000],
            [0.0000, 1.0000],
            [0.0000, 0.5000]])
    """
    expect_positive(steps=steps)
    expect_unsigned(graph, "they are the chances of a walk")
    n, device = graph.vertices, graph.edges.device
    d = graph.degrees("out", dtype).detach()
    chance = torch.where(d > 0, d, 1.0).reciprocal()[graph.arcs[0]]
    a = graph.arc_weights
    P = order_weights(chance if a is None else chance * a.detach().to(dtype), graph, dtype)
    rank = vertex_places(graph) % max(graph.largest, 1)
    r = torch.zeros(n, steps, dtype=dtype, device=device)
    for first in range(0, graph.largest, COLUMNS):
        walkers = ((rank >= first) & (rank < first + COLUMNS)).nonzero()[:, 0]
        column = rank[walkers] - first
        x = torch.zeros(n, min(COLUMNS, graph.largest - first), dtype=dtype, device=device)
        x[walkers, column] = 1.0
        for k in range(steps):
            x = sum_weighted(x, graph, P)
            r[walkers, k] = x[walkers, column]
    return r


def flip_signs(eigenvectors: Float[Tensor, "n k"], graph: Graph) -> Float[Tensor, "n k"]:
    """Each eigenvector of each graph times +1 or −1, drawn anew."""
    expect_rows("eigenvectors", eigenvectors, graph.vertices, "vertex")
    shape = (graph.graphs, eigenvectors.shape[1])
    signs = torch.randint(0, 2, shape, device=eigenvectors.device).to(eigenvectors.dtype) * 2 - 1
    return eigenvectors * (signs if graph.membership is None else signs[graph.membership])


class LaplacianEncoding(nn.Module):
    """y = (Q ⊙ s) W + b, the signs s = ±1 drawn in training; ``layer(eigenvectors, graph)``. Dwivedi, Bresson 2021.

    ``count`` eigenvectors; a graph that has fewer is filled up with zeros. Tap: ``output``.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.count = count
        self.map = Linear(count, width)
        self.output = Tap()

    @override
    def forward(self, eigenvectors: Float[Tensor, "n k"], graph: Graph) -> Float[Tensor, "n w"]:
        expect_width("eigenvectors", eigenvectors, self.count)
        y = self.map(flip_signs(eigenvectors, graph) if self.training else eigenvectors)
        if self.output.live:
            y = self.output(y)
        return y


class RandomWalkEncoding(nn.Module):
    """y = r W + b with r_v = ((P)_vv, …, (P^k)_vv); ``layer(graph)``. Dwivedi et al. 2022. Tap: ``output``."""

    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        expect_positive(steps=steps)
        self.steps = steps
        self.map = Linear(steps, width)
        self.output = Tap()

    @override
    def forward(self, graph: Graph) -> Float[Tensor, "n w"]:
        dtype = self.map.weight.dtype
        r = graph.keep(("random_walk", self.steps, dtype), lambda: random_walk_encoding(graph, self.steps, dtype))
        y = self.map(r)
        if self.output.live:
            y = self.output(y)
        return y
