r"""Chebyshev filters: a polynomial of the Laplacian, which reaches as far as its order and needs no eigenvectors.

    L̂ = (2/λ) L_sym − I                                        spectrum within −1 … 1
    T_0 = X,  T_1 = L̂ X,  T_k = 2 L̂ T_{k−1} − T_{k−2}           Chebyshev's recursion
    Y = Σ_{k<K} T_k W_k + b                                    a filter Σ θ_k T_k(λ̂) of every pair of features

    B_k = X W_k + 2 L̂ B_{k+1} − B_{k+2}                        the same from the other end (Clenshaw 1955):
    Y = X W_0 + L̂ B_1 − B_2 + b                                L̂ meets outputs, where these are fewer than inputs

λ bounds the eigenvalues of L_sym = I − D^{−1/2} A D^{−1/2}: 2 always does. Self-loops are left out, and a vertex that
stands alone has L̂ = 0 (with λ = 2). Defferrard, Bresson, Vandergheynst 2016, eq. 4. Notes: N3 §7.8.3–7.8.4.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graph_layers.gcn import symmetric_norm
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import expect_undirected, refuse_edge_features
from cutaway.blocks.graphs.neighbours import ArcWeights, expect_vertices, sum_weighted
from cutaway.blocks.graphs.sparse_features import map_features
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class ChebyshevLayer(nn.Module):
    """Y = Σ_{k<K} T_k(L̂) X W_k + b, for undirected graphs; ``layer(x, graph)``. Defferrard et al. 2016.

    ``order`` K: K − 1 edges is how far it sees. ``largest``: λ, a bound on the eigenvalues of L_sym. Features
    of edges are refused: it reads weights alone. Taps: ``terms`` (K, vertices, inputs), the T_k, and ``output``.
    """

    def __init__(self, inputs: int, outputs: int, order: int = 3, bias: bool = True, largest: float = 2.0) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs, order=order, largest=largest)
        self.inputs, self.outputs, self.order, self.largest = inputs, outputs, order, largest
        self.maps = nn.ModuleList(Linear(inputs, outputs, bias=False) for _ in range(order))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.terms, self.output = Tap(), Tap()
        for parameter in self.maps.parameters():
            nn.init.xavier_uniform_(parameter)

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        expect_undirected(graph, "a Chebyshev filter")
        refuse_edge_features(graph, "a Chebyshev filter")
        graph = graph.without_loops()
        a = symmetric_norm(graph, x.dtype)
        backwards = is_sparse_rows(x) or self.outputs < self.inputs
        if self.terms.edited or not backwards:
            y = self._sum_terms(x, graph, a)
        else:
            if self.terms.live:
                self._sum_terms(x, graph, a)
            y = self._sum_backwards(x, graph, a)
        if self.bias is not None:
            y = y + self.bias
        if self.output.live:
            y = self.output(y)
        return y

    def _sum_terms(self, x: Tensor, graph: Graph, a: ArcWeights) -> Float[Tensor, "n o"]:
        """Σ T_k W_k, term by term."""
        T = [x.to_dense() if is_sparse_rows(x) else x]
        for k in range(1, self.order):
            step = self._scaled_laplacian(T[-1], graph, a)
            T.append(step if k == 1 else 2 * step - T[-2])
        if self.terms.live:
            T = list(self.terms(torch.stack(T)))
        total = self.maps[0](T[0])
        for map_k, t in zip(self.maps[1:], T[1:], strict=True):
            total = total + map_k(t)
        return total

    def _sum_backwards(self, x: Tensor, graph: Graph, a: ArcWeights) -> Float[Tensor, "n o"]:
        """The same by Clenshaw's recursion."""
        after: Tensor | None = None  # B_{k+1}
        second: Tensor | None = None  # B_{k+2}
        for k in reversed(range(self.order)):
            y = map_features(self.maps[k], x)
            if after is not None:
                y = y + (2 if k else 1) * self._scaled_laplacian(after, graph, a)
            if second is not None:
                y = y - second
            after, second = y, after
        return y

    def _scaled_laplacian(self, x: Tensor, graph: Graph, a: ArcWeights) -> Tensor:
        """L̂ x = (2/λ − 1) x − (2/λ) D^{−1/2} A D^{−1/2} x."""
        s = 2 / self.largest
        heard = sum_weighted(x, graph, a)
        return -heard if s == 1 else (s - 1) * x - s * heard

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.outputs}, order={self.order}"
