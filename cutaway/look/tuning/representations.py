r"""What tuning did to the representations: how alike those of two models are, layer by layer.

    S_ij = CKA(layer i before, layer j after)           on the same inputs, one row for each example or token

The diagonal falls where a layer came to represent something else. Kornblith et al. 2019.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.losses.cka import linear_cka
from cutaway.inside.address_globs import matching, named_sites
from cutaway.inside.tracing import trace
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.pages.picture import Picture

_ROWS = 4096  # examples or tokens compared, at most
_NUMBERS = 32_000_000  # of the representations of one model, at most: fewer rows of large models are compared


def layers_of(model: nn.Module, layers: Sequence[str] = ()) -> list[str]:
    """The addresses of a model's layers: as asked for, else as the model declares (``layer_order``)."""
    globs = tuple(layers) or tuple(getattr(model, "layer_order", ("blocks.*",)))
    sites = named_sites(model)
    found = [name for glob in globs for name in matching(glob, sites)]
    if not found:
        raise ValueError(f"layers must be addresses of the model, got {', '.join(globs)}, which name none; say layers=")
    return found


@torch.no_grad()
def layer_states(
    model: nn.Module, inputs: Sequence[tuple[Any, ...]], addresses: Sequence[str]
) -> dict[str, Float[Tensor, "n w"]]:
    """The outputs of layers as rows: one for each example, or for each token that the last input, a mask, marks."""
    parts: dict[str, list[Tensor]] = {address: [] for address in addresses}
    was_training = model.training
    model.eval()
    try:
        for arguments in inputs:
            tensors, options = read_inputs(arguments)
            with trace(model, *addresses) as seen:
                model(*tensors, **options)
            for address in addresses:
                rows = as_rows(seen.calls[address][-1], options.get("mask"))
                most = min(_ROWS, _NUMBERS // (rows.shape[1] * len(addresses)))
                parts[address].append(thinned(rows, max(2, most // len(inputs))).cpu())
    finally:
        model.train(was_training)
    return {address: torch.cat(part) for address, part in parts.items()}


def read_inputs(arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by place, and by name where the last one is a dict of these."""
    return (arguments[:-1], dict(arguments[-1])) if isinstance(arguments[-1], dict) else (arguments, {})


def as_rows(state: Tensor, mask: Tensor | None = None) -> Float[Tensor, "n w"]:
    """One row for each token (of images: the mean over all places of each channel)."""
    if state.ndim == 4:
        return state.mean((2, 3))
    if state.ndim == 3:
        return state.flatten(0, 1) if mask is None else state[mask]
    return state.flatten(1)


def thinned(x: Float[Tensor, "n w"], most: int) -> Float[Tensor, "m w"]:
    """Evenly spread rows, if there are more than ``most``."""
    return x if len(x) <= most else x[torch.linspace(0, len(x) - 1, most).long()]


def layer_similarity(
    before: nn.Module, after: nn.Module, inputs: Sequence[tuple[Any, ...]], layers: Sequence[str] = ()
) -> tuple[list[str], Float[np.ndarray, "l l"]]:
    """The addresses of the layers, and CKA of each layer before (rows) with each after (columns)."""
    addresses = [name for name in layers_of(before, layers) if name in set(layers_of(after, layers))]
    if not addresses:
        raise ValueError("two models are compared by layers of one name, got none in common; say layers=")
    old, new = (layer_states(model, inputs, addresses) for model in (before, after))
    found = [[float(linear_cka(old[i].double(), new[j].double())) for j in addresses] for i in addresses]
    return addresses, np.array(found)


def similarity_pictures(layers: Sequence[str], similarity: Float[np.ndarray, "l l"]) -> list[Picture]:
    """CKA of all layers before and after, and the diagonal as a curve."""
    diagonal = np.diag(similarity)
    least = int(diagonal.argmin())
    whole = heatmap(
        similarity,
        list(layers),
        list(layers),
        title="How alike layers are before and after tuning (CKA)",
        value="CKA",
        axes=("layer before", "layer after"),
    ).captioned(
        "CKA (centred kernel alignment) compares what two layers make of the same held-out inputs: 1 is the same up to "
        "a rotation; a darker cell on the diagonal is a layer that tuning changed."
    )
    return [whole, diagonal_curve(layers, diagonal, least)]


def diagonal_curve(layers: Sequence[str], diagonal: Float[np.ndarray, "l"], least: int) -> Picture:
    """How much of each layer tuning left as it was."""
    import altair as alt

    rows = [{"layer": name, "place": i, "cka": float(value)} for i, (name, value) in enumerate(zip(layers, diagonal))]
    low = max(0.0, float(np.floor(diagonal.min() * 10) / 10 - 0.1))
    base = alt.Chart(alt.NamedData("rows")).encode(
        x=alt.X("layer:N", sort=None, title="layer, from the input on", axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("cka:Q", title="CKA of before and after", scale=alt.Scale(domain=[low, 1])),
    )
    chart = alt.layer(base.mark_line(clip=False), base.mark_circle(size=60, opacity=1)).properties(
        width=max(220, 46 * len(rows)), height=200
    )
    changed = f"{layers[least]} changed most ({diagonal[least]:.3f})"
    if diagonal[least] > 0.9995:
        changed = "no layer changed in a way that three digits show"
    ends = f"from {diagonal.min():.3f} to {diagonal.max():.3f}"
    said = f"A curve over {len(rows)} layers: CKA {ends}, least in {layers[least]}."
    return Picture(
        chart,
        "How much of each layer tuning left as it was",
        said,
        data=rows,
        caption=f"The diagonal of the map: 1 is unchanged up to a rotation; {changed}.",
    )


__all__ = ["layer_similarity", "layer_states", "layers_of", "similarity_pictures"]
