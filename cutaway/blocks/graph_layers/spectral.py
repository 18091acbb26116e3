r"""The spectral layer: every pair of features has a filter of its own, a gain for each eigenvector of the Laplacian.

    X̂ = Qᵀ X                             spectrum of every feature, Q (n, k) the first k eigenvectors
    Ŷ_{ℓo} = Σ_i X̂_{ℓi} θ_{ℓio}          filtered: gain θ_{ℓio} for eigenvector ℓ
    Y = Q Ŷ + b                          back to the vertices

Its filters are neither local nor shared between graphs: θ belongs to this graph's eigenvectors. The arbitrary sign of
an eigenvector changes nothing; another basis of a repeated eigenvalue, as arbitrary, changes the output, and so do the
eigenvectors of another graph. Bruna et al. 2014, eq. 3. Notes: N3 §7.8.3–7.8.4, where Q(·), the way back, is
missing.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.fourier import graph_fourier, inverse_graph_fourier
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class SpectralLayer(nn.Module):
    """Y = Q (θ ⊙ Qᵀ X) + b, a filter for every pair of features; ``layer(x, eigenvectors)``. Bruna et al. 2014.

    ``frequencies``: how many eigenvectors there will be. Taps: ``spectrum`` (k, inputs), ``filtered`` (k, outputs) and
    ``output``.
    """

    def __init__(self, inputs: int, outputs: int, frequencies: int, bias: bool = True) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs, frequencies=frequencies)
        self.inputs, self.outputs, self.frequencies = inputs, outputs, frequencies
        self.gains = nn.Parameter(torch.empty(frequencies, inputs, outputs))  # θ
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.spectrum, self.filtered, self.output = Tap(), Tap(), Tap()
        nn.init.normal_(self.gains, std=math.sqrt(2 / (inputs + outputs)))

    @override
    def forward(self, x: Float[Tensor, "n i"], eigenvectors: Float[Tensor, "n k"]) -> Float[Tensor, "n o"]:
        expect_float("x", x)
        expect_width("x", x, self.inputs)
        expect_width("eigenvectors", eigenvectors, self.frequencies)
        if is_sparse_rows(x):
            x = x.to_dense()
        spectrum = graph_fourier(x, eigenvectors)
        if self.spectrum.live:
            spectrum = self.spectrum(spectrum)
        filtered = torch.bmm(spectrum[:, None], self.gains)[:, 0]
        if self.filtered.live:
            filtered = self.filtered(filtered)
        y = inverse_graph_fourier(filtered, eigenvectors)
        if self.bias is not None:
            y = y + self.bias
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.outputs}, frequencies={self.frequencies}"
