"""What the tests of graph layers share: graphs with every oddity, weights from torch_geometric, the laws of layers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.blocks import Graph


def odd_graph(directed: bool = False, weights: bool = True, features: int = 0, seed: int = 0) -> Graph:
    """A graph of 13 vertices in float64 with two self-loops, edges given twice, and two vertices alone."""
    generator = torch.Generator().manual_seed(seed)
    m = 31
    random = {"dtype": torch.float64, "generator": generator}
    i = torch.randint(11, (m,), generator=generator)
    j = (i + torch.randint(1, 11, (m,), generator=generator)) % 11
    i[9] = (i[4] + 1) % 11
    j[4], j[9] = i[4], i[9]
    return Graph(
        torch.stack([i, j]),
        vertices=13,
        weights=torch.rand(m, **random) if weights else None,
        edge_features=torch.randn(m, features, **random) if features else None,
        directed=directed,
    )


def batch_of_graphs(seed: int = 0, features: int = 0) -> Graph:
    """Four graphs of 5, 1, 3 and 4 vertices as one, in float64; with edge features, if asked for."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for n, m in ((5, 8), (1, 0), (3, 2), (4, 5)):
        told = torch.randn(m, features, dtype=torch.float64, generator=generator) if features else None
        parts.append(Graph(torch.randint(n, (2, m), generator=generator), vertices=n, edge_features=told))
    return Graph.batch(parts)


def vertex_features(graph: Graph, width: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(graph.vertices, width, dtype=torch.float64, generator=generator)


def shaken(module: nn.Module, seed: int = 3) -> nn.Module:
    """The module in float64, with all its weights drawn anew, biases too."""
    torch.manual_seed(seed)
    module.double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def set_weights(pairs: dict[Tensor, Tensor]) -> None:
    """Copies each value into its key: weights of ours into those of a peer."""
    with torch.no_grad():
        for theirs, ours in pairs.items():
            theirs.copy_(ours.reshape(theirs.shape))


def assert_equivariant(layer: Callable[[Tensor, Graph], Tensor], graph: Graph, width: int) -> None:
    """Renumbered vertices give the same rows, renumbered."""
    x = vertex_features(graph, width)
    order = torch.randperm(graph.vertices, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(layer(x[order], graph.permuted(order)), layer(x, graph)[order])


def assert_differentiable(layer: nn.Module, graph: Graph, width: int, **options: Any) -> None:
    """The gradients of x and of every weight are those of finite differences."""
    x = vertex_features(graph, width).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, graph), (x, *layer.parameters()), fast_mode=True, **options)


def gradients(y: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Of a fixed random projection of y."""
    g = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(9))
    return torch.autograd.grad((y * g).sum(), inputs, retain_graph=True)
