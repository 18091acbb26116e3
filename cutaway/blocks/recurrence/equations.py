r"""One step of a recurrent net: the new values from the old state and the weighted sums of the input.

    z⁽ᵗ⁾ = tanh(s)                                              RNN,   s = x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b

    i, f, o = σ(s_i), σ(s_f), σ(s_o),  g = tanh(s_g)            LSTM:  input, forget, output gate; candidate
    c⁽ᵗ⁾ = f ⊙ c⁽ᵗ⁻¹⁾ + i ⊙ g,  z⁽ᵗ⁾ = o ⊙ tanh(c⁽ᵗ⁾)             cell state, hidden state

    r, u = σ(s_r), σ(s_u),  g = tanh(x⁽ᵗ⁾ W + b + r ⊙ (z⁽ᵗ⁻¹⁾ U + b′))     GRU: reset, update gate; candidate
    z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g                                       hidden state: u = 1 keeps it

Each function returns its values by name; ``name(…)`` is where somebody who looks may change one of them.
Elman 1990; Hochreiter, Schmidhuber 1997; Cho et al. 2014. Notes: N3 §5.1–5.3. Axis letters: docs/notation.md.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

Name = Callable[[str, Tensor], Tensor]


def unnamed(name: str, value: Tensor) -> Tensor:
    """Nobody changes the value."""
    return value


def rnn_step(sums: Float[Tensor, "*b w"], relu: bool = False, name: Name = unnamed) -> dict[str, Tensor]:
    """z⁽ᵗ⁾ = φ(s), φ = tanh, or relu."""
    return {"hidden": name("hidden", torch.relu(sums) if relu else torch.tanh(sums))}


def lstm_step(
    sums: Float[Tensor, "*b s"],
    cell: Float[Tensor, "*b w"],
    peepholes: Float[Tensor, "p w"] | None = None,
    coupled: bool = False,
    name: Name = unnamed,
) -> dict[str, Tensor]:
    """c⁽ᵗ⁾ = f ⊙ c⁽ᵗ⁻¹⁾ + i ⊙ g, z⁽ᵗ⁾ = o ⊙ tanh(c⁽ᵗ⁾), from the sums of i, f, g, o side by side.

    ``peepholes``: the gates see the cell state, σ(s + c ⊙ p); i and f the old one, o the new one (rows of p in this
    order). ``coupled``: i = 1 − f, and there are sums and peepholes for f, g, o alone.
    """
    *s_i, s_f, s_g, s_o = sums.chunk(3 if coupled else 4, -1)
    *p_i, p_f, p_o = (None,) * 3 if peepholes is None else peepholes
    f = name("forget_gate", torch.sigmoid(_peep(s_f, cell, p_f)))
    i = name("input_gate", 1 - f if coupled else torch.sigmoid(_peep(s_i[0], cell, p_i[0])))
    g = name("candidate", torch.tanh(s_g))
    c = name("cell", f * cell + i * g)
    o = name("output_gate", torch.sigmoid(_peep(s_o, c, p_o)))
    z = name("hidden", o * torch.tanh(c))
    return {"input_gate": i, "forget_gate": f, "candidate": g, "output_gate": o, "cell": c, "hidden": z}


def _peep(sums: Tensor, cell: Tensor, peephole: Tensor | None) -> Tensor:
    return sums if peephole is None else sums + cell * peephole


def gru_step(
    inputs: Float[Tensor, "*b s"],
    recurrent: Float[Tensor, "*b s"],
    hidden: Float[Tensor, "*b w"],
    name: Name = unnamed,
) -> dict[str, Tensor]:
    """z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g, from x⁽ᵗ⁾ W + b and z⁽ᵗ⁻¹⁾ U + b′, those of r, u, g side by side in both."""
    (x_r, x_u, x_g), (z_r, z_u, z_g) = inputs.chunk(3, -1), recurrent.chunk(3, -1)
    r = name("reset_gate", torch.sigmoid(x_r + z_r))
    u = name("update_gate", torch.sigmoid(x_u + z_u))
    g = name("candidate", torch.tanh(x_g + r * z_g))
    z = name("hidden", u * hidden + (1 - u) * g)
    return {"reset_gate": r, "update_gate": u, "candidate": g, "hidden": z}
