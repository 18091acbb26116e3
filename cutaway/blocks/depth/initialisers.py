r"""Initial weights: drawn so that signals neither die out nor blow up on their way through the layers.

    W = 0                       zeros: all units of a layer stay alike, so only for biases and last projections
    W ~ N(0, s²)                normal
    W ~ N(0, g²/i)              fan in: keeps the variance of the values, forwards
    W ~ N(0, g²/o)              fan out: keeps the variance of the gradients, backwards
    W ~ N(0, g²/D) or U(−g√(3/D), g√(3/D)), D = (i + o)/2       Xavier: a compromise of both, for tanh and linear layers
    W ~ N(0, 2/i)               Kaiming: fan in with g = √2, as a rectifier lets half of the variance through
    W ∝ Q, QᵀQ = 1              orthogonal: keeps lengths exactly
    W ~ N(0, s²/(2L))           small residual: the last projection in each of the 2L branches of L transformer layers

W has shape (inputs i, outputs o), the transpose of torch.nn.Linear's, so fan in is the size of its *first* axis. The
kernels of convolutions, (outputs, inputs, *size), are torch's; both fans count the size. As in torch, the underscore at
the end says that the tensor is changed in place; it is also returned. Glorot, Bengio 2010; He et al. 2015; Saxe et al.
2014; Radford et al. 2019 (GPT-2), §2.3. Notes: N3 §3.8.
"""

import math
from collections.abc import Callable
from fnmatch import fnmatchcase

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.norms.weight import WeightNormLinear
from cutaway.blocks.positions.learned import LearnedPosition

Weight = Float[Tensor, "..."]  # (inputs, outputs), or a kernel (outputs, inputs, *size)


@torch.no_grad()
def zeros_(weight: Weight) -> Weight:
    """W = 0."""
    return weight.zero_()


@torch.no_grad()
def normal_(weight: Weight, std: float = 0.02, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, s²), whatever the shape; ``std`` is s."""
    return weight.normal_(0, std, generator=generator)


@torch.no_grad()
def fan_in_(weight: Weight, gain: float = 1.0, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, g²/i) with i inputs."""
    inputs, _ = _fans(weight)
    return weight.normal_(0, gain / math.sqrt(inputs), generator=generator)


@torch.no_grad()
def fan_out_(weight: Weight, gain: float = 1.0, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, g²/o) with o outputs."""
    _, outputs = _fans(weight)
    return weight.normal_(0, gain / math.sqrt(outputs), generator=generator)


@torch.no_grad()
def xavier_normal_(weight: Weight, gain: float = 1.0, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, g²/D), D = (i + o)/2."""
    return weight.normal_(0, gain / math.sqrt(sum(_fans(weight)) / 2), generator=generator)


@torch.no_grad()
def xavier_uniform_(weight: Weight, gain: float = 1.0, generator: torch.Generator | None = None) -> Weight:
    """W ~ U(−g√(3/D), g√(3/D)), D = (i + o)/2; its variance is g²/D too."""
    bound = gain * math.sqrt(3 / (sum(_fans(weight)) / 2))
    return weight.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(weight: Weight, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, 2/i): fan in with the gain √2 of a rectifier."""
    return fan_in_(weight, math.sqrt(2), generator)


@torch.no_grad()
def orthogonal_(weight: Weight, gain: float = 1.0, generator: torch.Generator | None = None) -> Weight:
    """W = g Q with Q drawn evenly from the matrices with orthonormal columns (rows, if there are more columns)."""
    inputs, outputs = _fans(weight)
    outputs = outputs if weight.ndim == 2 else weight.shape[0]  # a kernel is one row of inputs for each output
    dtype = torch.promote_types(weight.dtype, torch.float32)  # there is no QR in half precision
    draw = torch.empty(max(inputs, outputs), min(inputs, outputs), dtype=dtype, device=weight.device)
    Q, R = torch.linalg.qr(draw.normal_(generator=generator))
    Q = Q * R.diagonal().sign()  # QR fixes signs by convention; undoing that makes the draw even (Mezzadri 2007)
    Q = gain * (Q if inputs >= outputs else Q.T)
    return weight.copy_(Q if weight.ndim == 2 else Q.T.reshape(weight.shape))


def small_residual_(weight: Weight, depth: int, std: float = 0.02, generator: torch.Generator | None = None) -> Weight:
    """W ~ N(0, s²/(2L)) for ``depth`` L transformer layers: 2L branches then add up to the variance of one."""
    expect_positive(depth=depth)
    return normal_(weight, std / math.sqrt(2 * depth), generator)


INITIALISERS: dict[str, Callable[..., Tensor]] = {
    "zeros": zeros_,
    "normal": normal_,
    "fan_in": fan_in_,
    "fan_out": fan_out_,
    "xavier_normal": xavier_normal_,
    "xavier_uniform": xavier_uniform_,
    "kaiming_normal": kaiming_normal_,
    "orthogonal": orthogonal_,
}


def initialise(module: nn.Module, initialiser: str | Callable[[Tensor], object], pattern: str = "*") -> list[str]:
    """Draws all weights of a model anew, W ~ ``initialiser`` (a name, or a function of a tensor); returns their names.

    ``pattern`` chooses by name ("blocks.*.mlp.*"). A matrix has two axes, a kernel more and the name "weight" or
    "kernel"; torch.nn.Linear's are taken as their transpose. Biases and gains are left alone, and so are tables of
    embeddings and positions, which have no fans, also where an output layer shares them.

    >>> initialise(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), "orthogonal", pattern="2.*")
    ['2.weight']
    """
    if isinstance(initialiser, str):
        expect_choice("initialiser", initialiser, INITIALISERS)
        initialiser = INITIALISERS[initialiser]
    tables = (Embedding, LearnedPosition, nn.Embedding)
    done = {p for part in module.modules() if isinstance(part, tables) for p in part.parameters(recurse=False)}
    known = {}
    for path, part in module.named_modules():
        for name, p in part.named_parameters(path, recurse=False):
            is_kernel = p.ndim > 2 and name.rsplit(".", 1)[-1] in ("weight", "kernel")
            if p not in done and (p.ndim == 2 or is_kernel):
                done.add(p)  # a shared weight is drawn once, by its first name
                known[name] = part, p.T if isinstance(part, nn.Linear) else p
    chosen = [name for name in known if fnmatchcase(name, pattern)]
    if not chosen:
        raise ValueError(
            f"pattern must match the name of a weight matrix, got {pattern!r}; there are: {', '.join(known) or 'none'}"
        )
    with torch.no_grad():
        for part, weight in map(known.__getitem__, chosen):
            initialiser(weight)
            if isinstance(part, WeightNormLinear):
                part.gain.copy_(torch.linalg.vector_norm(weight, dim=0))  # so that W, not only its direction, is drawn
    return chosen


def _fans(weight: Tensor) -> tuple[int, int]:
    if weight.ndim < 2:
        raise ValueError(
            f"fans need a weight of shape (inputs, outputs), got shape {tuple(weight.shape)}; "
            "use zeros_ or normal_ for a vector"
        )
    if weight.ndim == 2:
        return weight.shape[0], weight.shape[1]
    outputs, inputs, *size = weight.shape
    return inputs * math.prod(size), outputs * math.prod(size)
