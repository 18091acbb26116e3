"""Activations against their written-out equations, their derivatives against autograd, and the picture."""

import copy
import dataclasses
import pickle
import re
import xml.etree.ElementTree as ElementTree

import pytest
import scipy.special
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import cutaway as cut
from cutaway.blocks import (
    ELU,
    Activation,
    Dense,
    LeakyReLU,
    elu,
    find_activation,
    gelu,
    gelu_tanh,
    identity,
    leaky_relu,
    logistic,
    relu,
    relu_squared,
    silu,
    tanh,
)
from cutaway.blocks.dense.curves import round_steps

WRITTEN = {
    identity: lambda x: x,
    logistic: lambda x: 1 / (1 + torch.exp(-x)),
    tanh: lambda x: (torch.exp(2 * x) - 1) / (torch.exp(2 * x) + 1),
    relu: lambda x: torch.maximum(x, torch.zeros_like(x)),
    leaky_relu: lambda x: torch.where(x > 0, x, 0.01 * x),
    LeakyReLU(0.2): lambda x: torch.where(x > 0, x, 0.2 * x),
    elu: lambda x: torch.where(x > 0, x, torch.exp(x) - 1),
    ELU(0.5): lambda x: torch.where(x > 0, x, 0.5 * (torch.exp(x) - 1)),
    gelu: lambda x: x * torch.from_numpy(scipy.special.ndtr(x.numpy())),
    gelu_tanh: lambda x: x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
    silu: lambda x: x / (1 + torch.exp(-x)),
    relu_squared: lambda x: torch.where(x > 0, x**2, 0),
}
ALL = pytest.mark.parametrize("activation", WRITTEN, ids=str)


@ALL
def test_fused_is_the_written_out_equation(activation: Activation):
    x = torch.linspace(-20, 20, 4001, dtype=torch.float64)
    torch.testing.assert_close(activation(x), WRITTEN[activation](x), rtol=1e-12, atol=1e-14)


@ALL
def test_derivative_is_autograds(activation: Activation):
    """Also at 0, where the kinks are, and far out."""
    x = torch.cat([torch.linspace(-20, 20, 4001, dtype=torch.float64), torch.tensor([0.0, 1e4, -1e4])])
    (slope,) = torch.autograd.grad(activation(x.requires_grad_()).sum(), x)
    torch.testing.assert_close(activation.derivative(x), slope, rtol=1e-11, atol=1e-13)


@ALL
def test_second_derivative(activation: Activation):
    """The formula of the derivative can itself be differentiated, and agrees with autograd's second derivative."""
    x = torch.cat([torch.linspace(-6, 6, 100), torch.tensor([800.0])]).double().requires_grad_()  # none of them at 0
    (first,) = torch.autograd.grad(activation(x).sum(), x, create_graph=True)
    second = torch.autograd.grad(first.sum(), x)[0] if first.requires_grad else torch.zeros_like(x)
    formula = activation.derivative(x)
    ours = torch.autograd.grad(formula.sum(), x)[0] if formula.requires_grad else torch.zeros_like(x)
    torch.testing.assert_close(ours, second, rtol=1e-9, atol=1e-12)


def test_by_hand():
    assert logistic(0.0).item() == 0.5
    assert logistic.derivative(0.0).item() == 0.25  # N3 §3.3.1
    assert tanh.derivative(0.0).item() == 1
    assert torch.equal(relu(torch.tensor([-2.0, 0.0, 3.0])), torch.tensor([0.0, 0.0, 3.0]))
    assert torch.equal(relu.derivative(torch.tensor([-2.0, 0.0, 3.0])), torch.tensor([0.0, 0.0, 1.0]))
    assert torch.equal(relu_squared(torch.tensor([-2.0, 3.0])), torch.tensor([0.0, 9.0]))
    assert LeakyReLU(0.5)(-4).item() == -2
    # Φ(1) = 0.841345 from any table of the normal distribution
    assert gelu(1.0).item() == pytest.approx(0.841345, abs=1e-6)


@given(st.floats(-50, 50), st.floats(0, 50))
def test_laws(x: float, a: float):
    """Homogeneity of the rectifier (N0 §1.1), symmetries, and the bounds that N3 §3.6 reads off the derivatives."""
    u = torch.tensor(x, dtype=torch.float64)
    close = lambda left, right: torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-12)
    close(relu(a * u), a * relu(u))
    close(relu(u) - relu(-u), u)
    close(leaky_relu(a * u), a * leaky_relu(u))
    close(logistic(u) + logistic(-u), torch.ones_like(u))
    close(tanh(u), 2 * logistic(2 * u) - 1)
    close(gelu(u) - gelu(-u), u)
    close(silu(u) - silu(-u), u)
    assert 0 <= logistic.derivative(u) <= 0.25 * (1 + 1e-15)  # as rounded
    assert 0 <= tanh.derivative(u) <= 1


def test_tanh_form_of_gelu_is_off_by_less_than_half_a_thousandth():
    x = torch.linspace(-10, 10, 200_001, dtype=torch.float64)
    assert 0.0004 < (gelu(x) - gelu_tanh(x)).abs().max().item() < 0.0005


def test_peers_of_transformers():
    peers = pytest.importorskip("transformers.activations").ACT2FN
    x = torch.linspace(-8, 8, 1601, dtype=torch.float64)
    for name, ours in {"gelu": gelu, "gelu_new": gelu_tanh, "silu": silu, "relu2": relu_squared}.items():
        torch.testing.assert_close(ours(x), peers[name](x), rtol=1e-12, atol=1e-14)


@ALL
def test_numbers_and_dtypes(activation: Activation):
    assert torch.equal(activation(1.5), activation(torch.tensor(1.5)))
    assert torch.equal(activation.derivative(-2), activation.derivative(torch.tensor(-2.0)))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.randn(2, 3).to(dtype)
        assert activation(x).dtype == activation.derivative(x).dtype == dtype
        assert activation.derivative(x).shape == (2, 3)


def test_numbers_take_the_default_dtype(float64):
    assert relu(2).dtype == torch.float64


@ALL
def test_is_a_value(activation: Activation):
    for twin in (copy.deepcopy(activation), pickle.loads(pickle.dumps(activation))):
        assert twin == activation
        assert hash(twin) == hash(activation)
        assert repr(twin) == twin.__name__ == activation.name
        assert torch.equal(twin(torch.tensor([-1.0, 2.0])), activation(torch.tensor([-1.0, 2.0])))
    assert find_activation(str(activation)) == activation
    assert [activation == other for other in WRITTEN].count(True) == 1


def test_constants_are_fixed():
    assert LeakyReLU(0.2) != leaky_relu == LeakyReLU(0.01)
    assert repr(LeakyReLU(0.2)) == "LeakyReLU(slope=0.2)"
    assert repr(ELU()) == "elu"
    with pytest.raises(dataclasses.FrozenInstanceError):
        leaky_relu.slope = 0.5


def test_in_a_layer(float64):
    layer = Dense(3, 7, relu)
    assert "activation=relu" in repr(layer)
    assert "activation=LeakyReLU(slope=0.2)" in repr(Dense(3, 7, LeakyReLU(0.2)))
    x = torch.randn(5, 3)
    torch.testing.assert_close(layer(x), (x @ layer.linear.weight + layer.linear.bias).clamp(min=0))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


@pytest.mark.parametrize(
    ("name", "near"),
    [("rleu", "relu"), ("GELU", "gelu"), ("sigmoid", "logistic"), ("Swish", "silu"), ("leaky", "leaky_relu")],
)
def test_unknown_name(name: str, near: str):
    with pytest.raises(
        ValueError, match=rf"an activation must be one of identity, .*, got '{name}'; did you mean '{near}'\?"
    ):
        find_activation(name)


@pytest.mark.parametrize("name", ["xyzzy", "LeakyReLU(alpha=1)", "ReLU(slope=0.2)", ""])
def test_unknown_name_without_neighbour(name: str):
    with pytest.raises(ValueError, match=rf"got '{re.escape(name)}'; "):
        find_activation(name)


# ---------------------------------------------------------------------------------------------------------------------
# The picture


def _parts(activation: Activation, **window: float) -> tuple[list[list[list[float]]], list[str], ElementTree.Element]:
    """The lines in pixels, split where they jump; all texts; and the document, which must be well-formed."""
    root = ElementTree.fromstring(activation.to_svg(**window))
    name = "{http://www.w3.org/2000/svg}"
    curves = [path.attrib["d"] for path in root.iter(name + "path") if path.get("class") == "line"]
    lines = [
        [[float(number) for number in re.findall(r"-?[\d.]+", run)] for run in re.split("M", d)[1:]] for d in curves
    ]
    return lines, [text.text or "" for text in root.iter(name + "text")], root


@ALL
def test_picture_shows_both_functions(activation: Activation):
    """Pixels go back to values by the ticks, and those must be φ and φ′."""
    lines, texts, root = _parts(activation)
    assert activation.name in texts
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text.startswith(activation.name)
    at = {"x": {}, "y": {}}
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        if re.fullmatch(r"−?[\d.]+", text.text):
            axis = "x" if text.get("text-anchor") == "middle" else "y"
            place = float(text.attrib[axis]) - (4 if axis == "y" else 0)
            at[axis][float(text.text.replace("−", "-"))] = place
    assert min(at["x"]) == -4
    assert max(at["x"]) == 4
    assert 3 <= len(at["y"]) <= 9

    def value(pixel: Tensor, marks: dict[float, float]) -> Tensor:
        (a, p), (b, q) = min(marks.items()), max(marks.items())
        return a + (pixel - p) / (q - p) * (b - a)

    for runs, f in zip(lines, (activation, activation.derivative), strict=True):
        for run in runs:
            points = torch.tensor(run, dtype=torch.float64).view(-1, 2)[1:-1]  # ends lie beside the kinks
            x, y = value(points[:, 0], at["x"]), value(points[:, 1], at["y"])
            height = max(at["y"]) - min(at["y"])
            assert (y - f(x)).abs().max().item() < 0.01 * height


def test_picture_breaks_the_line_at_a_jump():
    lines, texts, _ = _parts(relu)
    assert [len(runs) for runs in lines] == [2, 2]
    assert {"relu(x) = max(0, x)", "relu′(x) = 1 if x > 0 else 0"} < set(texts)
    assert [len(runs) for runs in _parts(relu, low=1.0, high=2.0)[0]] == [1, 1]
    assert [len(runs) for runs in _parts(tanh)[0]] == [1, 1]
    assert "leaky_relu(x) = x if x > 0 else 0.2 · x" in _parts(LeakyReLU(0.2))[1]


def test_picture_can_be_read_on_any_background():
    """It brings its own background; contrasts by WCAG 2.1: 4.5 for text, 3 for lines."""
    svg = relu._repr_svg_()
    assert svg == relu.to_svg()
    assert 'fill="#ffffff"' in svg

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(colour: str) -> float:
        return 1.05 / (luminance(colour) + 0.05)

    assert contrast("#000000") == pytest.approx(21)
    root = ElementTree.fromstring(svg)
    assert contrast(root.attrib["fill"]) > 4.5
    strokes = {path.attrib["stroke"] for path in root.iter("{http://www.w3.org/2000/svg}path") if path.get("class")}
    assert len(strokes) == 2
    assert all(contrast(stroke) > 3 for stroke in strokes)
    assert not re.search(r"href|<script|@import|url\(", svg)


def test_picture_of_your_own():
    """Without equations in the docstring, with a pole, and with a name that needs escaping."""

    class Inverse(Activation):
        short = "1/x <own>"

        def _value(self, x: Tensor) -> Tensor:
            return torch.where(x.abs() < 0.5, torch.inf, 1 / x)

        def _derivative(self, x: Tensor) -> Tensor:
            return torch.zeros_like(x)

    lines, texts, _ = _parts(Inverse())
    assert texts[0] == "1/x <own>"
    assert {"φ(x)", "φ′(x)"} < set(texts)
    assert [len(runs) for runs in lines] == [2, 1]  # broken where it is infinite


def test_picture_of_nothing():
    class Zero(Activation):
        short = "zero"

        def _value(self, x: Tensor) -> Tensor:
            return torch.zeros_like(x)

        _derivative = _value

    assert "nan" not in Zero().to_svg()


def test_picture_of_an_empty_window():
    with pytest.raises(ValueError, match=r"low must be below high, got low=1.0, high=-1.0; swap them"):
        relu.to_svg(1.0, -1.0)


def test_ticks():
    assert round_steps(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert round_steps(-16, 0.5) == [-15, -10, -5, 0]
    assert round_steps(0.001, 0.0042) == [0.001, 0.002, 0.003, 0.004]


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.untyped
def test_compiles_inside_a_model():
    model = nn.Sequential(Dense(3, 5, LeakyReLU(0.2)), Dense(5, 7, gelu_tanh), Dense(7, 2, relu_squared))
    x = torch.randn(4, 3)
    fast = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(fast(x), model(x))
    slope = torch.compile(lambda x: elu.derivative(x) + relu(1.0), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(slope(x), elu.derivative(x) + 1)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64; convert it with x.float\(\)"):
        cut.blocks.relu(torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"x must be a tensor or a number, got list; convert it with torch.as_tensor"):
        cut.blocks.relu.derivative([1.0, 2.0])
