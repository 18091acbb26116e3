r"""Activations: the functions φ of one number that a neuron applies to its weighted sum, each with its derivative.

    y = φ(s)                    entry by entry
    δ_s = φ′(s) δ_y             what backpropagation needs of it

An activation is a value: it is called like a function (``relu(x)``), knows ``derivative``, draws itself with it in a
notebook, and compares, copies and pickles by its name and constants. Values come from torch's fused kernels; the
equations stand in the docstrings, and the tests hold the two equal. Where φ has a kink, φ′ there is the one that torch
uses: the slope on the left. A new one is a subclass with ``_value`` and ``_derivative``.
Goodfellow, Bengio, Courville 2016, §6.3. Notes: N0 §1.1, N3 §2.2, §2.4.9, §3.6.
"""

import difflib
import inspect
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from cutaway.blocks.checks import expect_float
from cutaway.blocks.dense.curves import curves_svg
from cutaway.overriding import override


def as_tensor(x: Tensor | float) -> Tensor:
    """A number becomes a tensor of the default dtype; whole-number tensors are refused."""
    if isinstance(x, (int, float)):
        return torch.tensor(x, dtype=torch.get_default_dtype())
    if not isinstance(x, Tensor):
        raise ValueError(f"x must be a tensor or a number, got {type(x).__name__}; convert it with torch.as_tensor(x)")
    expect_float("x", x)
    return x


@dataclass(frozen=True, repr=False)
class Activation(ABC):
    """A function y = φ(x) of one number, applied entry by entry, that knows its derivative and can draw itself."""

    short: ClassVar[str]  # its name while all constants have their defaults
    kinks: ClassVar[tuple[float, ...]] = ()  # where φ or φ′ jumps

    def __post_init__(self) -> None:
        # What every function has: layers print it, and the registry lists it.
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__qualname__", self.name)

    @abstractmethod
    def _value(self, x: Tensor) -> Tensor: ...

    @abstractmethod
    def _derivative(self, x: Tensor) -> Tensor: ...

    def __call__(self, x: Float[Tensor, "*s"] | float) -> Float[Tensor, "*s"]:
        """φ(x)."""
        return self._value(as_tensor(x))

    def derivative(self, x: Float[Tensor, "*s"] | float) -> Float[Tensor, "*s"]:
        """φ′(x), by its formula.

        >>> logistic.derivative(0.0)
        tensor(0.2500)
        """
        return self._derivative(as_tensor(x))

    @property
    def name(self) -> str:
        """``relu``; with a constant of its own, how to write it: ``LeakyReLU(slope=0.2)``."""
        constants = {field.name: getattr(self, field.name) for field in fields(self)}
        if all(constants[field.name] == field.default for field in fields(self)):
            return self.short
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in constants.items())})"

    @override
    def __repr__(self) -> str:
        return self.name

    def _equations(self) -> tuple[str, str]:
        """The two lines of the docstring that state φ and φ′, with the constants filled in."""
        stated = re.findall(r"^    (.*=.*)$", inspect.getdoc(self) or "", re.MULTILINE)
        if len(stated) != 2:  # a user's own without them
            return "φ(x)", "φ′(x)"
        for field in fields(self):
            stated = [re.sub(rf"\b{field.name}\b", f"{getattr(self, field.name):g}", line) for line in stated]
        return stated[0], stated[1]

    def _drawn(self, x: Tensor) -> Tensor:
        return self._value(x)

    def to_svg(self, low: float = -4.0, high: float = 4.0) -> str:
        """φ and φ′ from ``low`` to ``high`` in one picture, an SVG document that stands alone."""
        if not low < high:
            raise ValueError(f"low must be below high, got low={low}, high={high}; swap them")
        inner = [kink for kink in self.kinks if low < kink < high]
        gap = 1e-9 * (high - low)  # a line ends before a jump and starts again behind it
        ends = zip([low, *(kink + gap for kink in inner)], [*(kink - gap for kink in inner), high])
        pieces = [torch.linspace(a, b, 161, dtype=torch.float64, device="cpu") for a, b in ends]
        lines = {
            label: [(x.tolist(), f(x).tolist()) for x in pieces]
            for label, f in zip(self._equations(), (self._drawn, self._derivative))
        }
        return curves_svg(self.name, lines)

    def _repr_svg_(self) -> str:
        return self.to_svg()


A = TypeVar("A", bound=Activation)
_known: dict[str, Activation] = {}


def named(activation: A) -> A:
    """Lets `find_activation` find it by its name; returns it."""
    assert activation.name not in _known, f"two activations named {activation.name}"
    _known[activation.name] = activation
    return activation


class Identity(Activation):
    r"""The linear neuron's activation, which leaves everything as it is.

        identity(x) = x
        identity′(x) = 1

    Notes: N3 §2.2.1.
    """

    short = "identity"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return x

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return torch.ones_like(x)


class Logistic(Activation):
    r"""The logistic function, from any number to a probability. It saturates, and its slope is never above ¼.

        logistic(x) = 1 / (1 + exp(−x))
        logistic′(x) = logistic(x) · (1 − logistic(x))

    Verhulst 1845. Notes: N3 §2.2.2, §3.6.
    """

    short = "logistic"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x) * torch.sigmoid(-x)  # 1 − σ(x) = σ(−x), without cancellation


class Tanh(Activation):
    r"""The hyperbolic tangent, a logistic function from −1 to 1 through the origin, 2σ(2x) − 1.

        tanh(x) = (exp(2x) − 1) / (exp(2x) + 1)
        tanh′(x) = 1 − tanh(x)²

    LeCun, Bottou, Orr, Müller 1998. Notes: N3 §3.6.
    """

    short = "tanh"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return torch.tanh(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return 1 - torch.tanh(x) ** 2


class ReLU(Activation):
    r"""The rectifier, which passes what is positive and nothing else.

        relu(x) = max(0, x)
        relu′(x) = 1 if x > 0 else 0

    Fukushima 1969; Nair, Hinton 2010. Notes: N0 §1.1, N3 §2.4.9, §3.6.
    """

    short = "relu"
    kinks = (0.0,)

    @override
    def _value(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return (x > 0).to(x.dtype)


@dataclass(frozen=True, repr=False)
class LeakyReLU(Activation):
    r"""The rectifier with a small slope below 0, so that no unit is ever dead.

        leaky_relu(x) = x if x > 0 else slope · x
        leaky_relu′(x) = 1 if x > 0 else slope

    ``LeakyReLU(0.2)`` has another slope. Maas, Hannun, Ng 2013. Notes: N3 §3.6.
    """

    slope: float = 0.01
    short = "leaky_relu"
    kinks = (0.0,)

    @override
    def _value(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.slope)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return torch.where(x > 0, torch.ones_like(x), self.slope)


@dataclass(frozen=True, repr=False)
class ELU(Activation):
    r"""The exponential linear unit, a rectifier that bends to −alpha below 0, smoothly where alpha is 1.

        elu(x) = x if x > 0 else alpha · (exp(x) − 1)
        elu′(x) = 1 if x > 0 else alpha · exp(x)

    ``ELU(0.5)`` has another alpha. Clevert, Unterthiner, Hochreiter 2016.
    """

    alpha: float = 1.0
    short = "elu"
    kinks = (0.0,)

    @override
    def _value(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        # the branch that is not taken must not overflow: its 0 · ∞ would be a NaN in the second derivative
        return torch.where(x > 0, 1.0, self.alpha * torch.exp(x.clamp(max=0)))


class GELU(Activation):
    r"""The Gaussian error linear unit, x times the probability Φ(x) that a standard normal number is below it.

        gelu(x) = x · Φ(x) = x/2 · (1 + erf(x/√2))
        gelu′(x) = Φ(x) + x · exp(−x²/2) / √(2π)

    Hendrycks, Gimpel 2016. BERT and ViT use this exact form.
    """

    short = "gelu"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return F.gelu(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


class GELUTanh(Activation):
    r"""GELU with Φ replaced by a tanh, as GPT-2 and T5 v1.1 were trained with. It is never off by more than 0.0005.

        gelu_tanh(x) = x/2 · (1 + tanh u(x))
        gelu_tanh′(x) = (1 + tanh u)/2 + x/2 · (1 − tanh²u) · u′

    where u(x) = √(2/π) · (x + 0.044715 x³). Hendrycks, Gimpel 2016.
    """

    short = "gelu_tanh"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        c = math.sqrt(2 / math.pi)
        t = torch.tanh(c * (x + 0.044715 * x**3))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2)


class SiLU(Activation):
    r"""The sigmoid linear unit or swish, x gated by its own logistic, as in Llama's MLPs.

        silu(x) = x · σ(x)
        silu′(x) = σ(x) · (1 + x · (1 − σ(x)))

    Hendrycks, Gimpel 2016; Elfwing, Uchibe, Doya 2018.
    """

    short = "silu"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return F.silu(x)

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x) * (1 + x * torch.sigmoid(-x))


class ReLUSquared(Activation):
    r"""The square of the rectifier, which has no kink.

        relu_squared(x) = max(0, x)²
        relu_squared′(x) = 2 · max(0, x)

    So et al. 2021.
    """

    short = "relu_squared"

    @override
    def _value(self, x: Tensor) -> Tensor:
        return torch.relu(x).square()

    @override
    def _derivative(self, x: Tensor) -> Tensor:
        return 2 * torch.relu(x)


identity = named(Identity())
logistic = named(Logistic())
tanh = named(Tanh())
relu = named(ReLU())
leaky_relu = named(LeakyReLU())
elu = named(ELU())
gelu = named(GELU())
gelu_tanh = named(GELUTanh())
silu = named(SiLU())
relu_squared = named(ReLUSquared())

_other_names = {
    "sigmoid": "logistic",
    "swish": "silu",
    "linear": "identity",
    "rectifier": "relu",
    "gelu_new": "gelu_tanh",
}


def find_activation(name: str) -> Activation:
    """The activation of that name, as it prints: ``find_activation(str(φ)) = φ``.

    >>> find_activation("gelu_tanh"), find_activation("LeakyReLU(slope=0.2)")
    (gelu_tanh, LeakyReLU(slope=0.2))
    """
    if name in _known:
        return _known[name]
    if written := re.fullmatch(r"(\w+)\((\w+)=([-+.\w]+)\)", name):
        kind, constant, number = written.groups()
        for activation in _known.values():
            if type(activation).__name__ == kind and constant in {field.name for field in fields(activation)}:
                return replace(activation, **{constant: float(number)})
    near = _other_names.get(name.lower()) or next(iter(difflib.get_close_matches(name.lower(), _known)), None)
    way_out = f"did you mean {near!r}?" if near else "pick one of these"
    raise ValueError(f"an activation must be one of {', '.join(_known)}, got {name!r}; {way_out}")
