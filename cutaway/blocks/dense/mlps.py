r"""The MLP of a transformer layer, a small network that is applied to every token by itself.

    y = φ(x W₁ + b₁) W₂ + b₂                        MLP
    y = (φ(x W_g) ⊙ x W_u) W₂                       gated: SwiGLU for φ = SiLU, GEGLU for φ = GELU

Vaswani et al. 2017, §3.3; gated: Shazeer 2020. Notes: N3 §5.6.4.
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_probability
from cutaway.blocks.dense.activations import gelu, silu
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.quiet import equation_of
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class MLP(nn.Module):
    """y = φ(x W₁ + b₁) W₂ + b₂. Taps: ``sums`` (x W₁ + b₁), ``hidden`` (φ of it), ``output``.

    ``hidden`` units, by default 4 × width; ``dropout`` drops them, in training.
    """

    residual_writers = ("down",)  # the child whose output is added to the residual stream

    def __init__(
        self,
        width: int,
        hidden: int | None = None,
        activation: Callable[[Tensor], Tensor] = gelu,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden = 4 * width if hidden is None else hidden
        expect_positive(width=width, hidden=hidden)
        expect_probability(dropout=dropout)
        self.up = Linear(width, hidden, bias)
        self.activation = activation
        self.down = Linear(hidden, width, bias)
        self.dropout = dropout
        self.sums, self.hidden, self.output = Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        s = self.up(x)
        if self.sums.live:
            s = self.sums(s)
        return _finish(self, self.activation(s))

    def equation(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        s = equation_of(self.up)(x)
        return equation_of(self.down)(self.activation(s))

    @override
    def extra_repr(self) -> str:
        return _repr(self)


class GatedMLP(nn.Module):
    """y = (φ(x W_g) ⊙ x W_u) W₂, SwiGLU by default.

    Taps: ``gates`` (φ(x W_g)), ``ups`` (x W_u), ``hidden`` (their product), ``output``. One fused matrix holds
    [W_g W_u]. ``hidden`` units, by default ⌊8/3 width⌋; ``dropout`` drops them, in training.
    """

    residual_writers = ("down",)
    fused_parts = {"up": 2}  # W_g and W_u, for optimizers that treat each by itself
    part_names = {"up": ("gates", "ups")}

    def __init__(
        self,
        width: int,
        hidden: int | None = None,
        activation: Callable[[Tensor], Tensor] = silu,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden = 8 * width // 3 if hidden is None else hidden  # as many weights as an MLP of 4 × width
        expect_positive(width=width, hidden=hidden)
        expect_probability(dropout=dropout)
        self.up = Linear(width, 2 * hidden, bias)
        self.activation = activation
        self.down = Linear(hidden, width, bias)
        self.dropout = dropout
        self.gates, self.ups, self.hidden, self.output = Tap(), Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        s, u = self.up(x).chunk(2, -1)
        g = self.activation(s)
        if self.gates.live:
            g = self.gates(g)
        if self.ups.live:
            u = self.ups(u)
        return _finish(self, g * u)

    def equation(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        s, u = equation_of(self.up)(x).chunk(2, -1)
        return equation_of(self.down)(self.activation(s) * u)

    @override
    def extra_repr(self) -> str:
        return _repr(self)


def _finish(mlp: MLP | GatedMLP, hidden: Tensor) -> Tensor:
    """The half that both kinds share: hidden W₂ + b₂."""
    if mlp.hidden.live:
        hidden = mlp.hidden(hidden)
    if mlp.dropout and mlp.training:
        hidden = nn.functional.dropout(hidden, mlp.dropout)
    y = mlp.down(hidden)
    if mlp.output.live:
        y = mlp.output(y)
    return y


def _repr(mlp: MLP | GatedMLP) -> str:
    φ = mlp.activation
    shown = [] if isinstance(φ, nn.Module) else [f"activation={getattr(φ, '__name__', φ)}"]
    return ", ".join(shown + ([f"dropout={mlp.dropout}"] if mlp.dropout else []))
