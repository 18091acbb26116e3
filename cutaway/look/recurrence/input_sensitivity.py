r"""How far back an output reaches: the size of the last output's gradient with respect to each input.

    s⁽ᵗ⁾ = ‖∂ log p(next token) / ∂x⁽ᵗ⁾‖₂

In a simple recurrent net it fades exponentially with the distance; gates can keep it. Bengio, Simard, Frasconi 1994;
Hochreiter, Schmidhuber 1997. Notes: N3 §5.1–5.2.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.inside.tracing import trace
from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.grids import MONO
from cutaway.look.language.passes import at_rest, run
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.look.style.wording import number, quoted, visible

_TOKENS = 200
_CAPTION = "The higher a bar, the more a small change of that token's vector would change what is predicted at the end."


def input_sensitivity(model: nn.Module, tokens: Tensor, address: str) -> tuple[np.ndarray, int]:
    """s⁽ᵗ⁾ for every token of one text (1, length), and the likeliest next token, whose log-probability is meant.

    ``address`` is that of the vectors of the tokens, (1, length, width): ``"embed"``, ``"recurrence.input"``.
    """
    with at_rest(model), torch.enable_grad(), trace(model, address, gradients=True) as seen:
        logits = run(model, tokens)[0, -1]
        best = int(logits.argmax())
        inputs = seen.calls[address][0]
        torch.autograd.grad(torch.log_softmax(logits, -1)[best], inputs, retain_graph=False)
    gradient = seen.gradient[address]
    gradient = gradient[0] if isinstance(gradient, list) else gradient
    return gradient[0].norm(dim=-1).double().cpu().numpy(), best


def sensitivity_bars(values: Values, tokens: Sequence[str], answer: str, *, title: str = "") -> Picture:
    """The sizes of the gradients over the text, on a logarithmic axis, with the tokens beneath."""
    import altair as alt

    sizes = as_array("values", values, "tokens")
    if len(sizes) != len(tokens) or not 0 < len(sizes) <= _TOKENS:
        raise ValueError(
            f"there must be a token for every value, at most {_TOKENS}, got {len(tokens)} for {len(sizes)}; "
            "pass a part of the text"
        )
    most = float(sizes.max()) or 1.0
    floor = max(float(sizes[sizes > 0].min()) if (sizes > 0).any() else most / 10, most * 1e-8) / 2
    rows = [
        {"at": t, "token": visible(token, 12), "value": max(float(size), floor), "floor": floor}
        for t, (token, size) in enumerate(zip(tokens, sizes.tolist()))
    ]
    decades = [10.0**n for n in range(math.floor(math.log10(floor)), math.ceil(math.log10(most)) + 1)]
    upright = all(len(visible(token, 12)) <= 1 for token in tokens)
    axis = alt.Axis(
        title=None,
        labelExpr="tokens[datum.value]",
        labelAngle=0 if upright else -90,
        labelFont=MONO,
        labelFontSize=10,
        labelOverlap=False,
        ticks=False,
    )
    chart = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar(color=CATEGORIES[0], aria=False)
        .encode(
            x=alt.X("at:O", axis=axis),
            y=alt.Y(
                "value:Q",
                title="size of the gradient (log axis)",
                scale=alt.Scale(type="log", domain=[floor, most], nice=False),
                axis=alt.Axis(values=decades, format="~g"),
            ),
            y2="floor:Q",
            tooltip=[
                alt.Tooltip("token:N"),
                alt.Tooltip("at:Q", title="position"),
                alt.Tooltip("value:Q", title="size of the gradient", format=".3~g"),
            ],
        )
        .properties(width=alt.Step(max(4, min(14, 640 // len(rows)))), height=160)
        .add_params(alt.param(name="tokens", value=[row["token"] for row in rows]))
    )
    first, last = float(sizes[0]), float(sizes[-1])
    ratio = f"The first token's gradient is {number(first / last, 2)} times the last one's." if last else ""
    title = title or f"How far back {quoted(answer)}, the likeliest next token, reaches"
    words = f"Bars over {len(rows)} tokens: size of the gradient of log p({quoted(answer)}). {ratio}"
    return Picture(chart, title, words, ratio, rows, caption=_CAPTION)
