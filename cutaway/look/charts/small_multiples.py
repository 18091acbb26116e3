r"""Small histograms of the weights or activations of many layers, side by side on one pair of axes.

    share_b = |{x in bin b}| / |{x}|

They show shares, not counts, so that a large matrix and a small one can be compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

from cutaway.inside.address_globs import matching, unknown_address
from cutaway.look.charts.arrays import as_array, short_names
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number, visible

_PANELS = 48  # in one picture, at most
_SAMPLED = 200_000  # numbers of a tensor that the ends of the axis are chosen by
_TAIL = 0.001  # share at each end that may stick out of the axis


def histograms(
    source: nn.Module | Mapping[str, Any],
    addresses: str | Sequence[str] = "**",
    *,
    bins: int = 40,
    log: bool = False,
    title: str = "",
) -> Picture:
    """The distribution of each of a model's parameters, or of each value that a trace has seen, in small panels.

    ``addresses`` are patterns, as for `cut.trace`: ``histograms(model, "blocks.*.mlp.up.weight")``. With ``log`` the
    shares are on a logarithmic axis, for the tails.
    """
    import altair as alt

    if bins < 1:
        raise ValueError(f"bins must be above 0, got {bins}; try bins=40")
    chosen = _chosen(source, [addresses] if isinstance(addresses, str) else list(addresses))
    kind = "weight" if isinstance(source, nn.Module) else "value"
    arrays = {address: as_array(address, value).ravel() for address, value in chosen.items()}
    finite = {address: x[np.isfinite(x)] for address, x in arrays.items()}
    low, high = _range([x for x in finite.values() if x.size])
    data, names = [], []
    for address, name in zip(finite, short_names(list(finite))):
        x = finite[address]
        # what sticks out of the axis is counted in the bins at its ends
        counts, edges = np.histogram(np.clip(x, low, high), bins=bins, range=(low, high))
        names.append(f"{visible(name, 26)}   σ {number(float(x.std(dtype=np.float64)), 2) if x.size else '–'}")
        data += [
            {"series": names[-1], "from": a, "to": b, "share": int(n) / x.size}
            for n, a, b in zip(counts, edges[:-1].tolist(), edges[1:].tolist())
            if n
        ]
    columns = min(4, len(names))
    least = min((row["share"] for row in data), default=1.0)
    scale = alt.Scale(type="log", domain=[least / 2, 1.0]) if log else alt.Scale()
    shares = alt.Y("share:Q", title="share" + (" (log axis)" if log else ""), scale=scale)
    shares["axis"] = alt.Axis(tickCount=3, format="~%" if not log else ".0e")
    panel = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar(binSpacing=0, aria=False)
        .encode(
            x=alt.X("from:Q", bin="binned", title=kind, axis=alt.Axis(tickCount=3, grid=False)).scale(
                domain=[low, high], nice=False
            ),
            x2="to:Q",
            y=shares,
            **({"y2": alt.Y2Datum(least / 2)} if log else {}),  # a bar on a log axis has no zero to stand on
            tooltip=[
                alt.Tooltip("series:N", title="of"),
                *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("from", "to")),
                alt.Tooltip("share:Q", format=".3~%"),
            ],
        )
        .properties(width=600 // columns - 30, height=70)
    )
    header = alt.Header(title=None, labelAnchor="start", labelFontSize=11)
    chart = panel.facet(facet=alt.Facet("series:N", sort=names, header=header), columns=columns, spacing=14)
    out = sum(int(((x < low) | (x > high)).sum()) for x in finite.values())
    lost = sum(arrays[address].size - x.size for address, x in finite.items())
    note = "All panels have the same axes; σ is the standard deviation."
    note += f" {out:,} values beyond the axis are counted at its ends." if out else ""
    note += f" {lost:,} that are not finite are left out." if lost else ""
    total = sum(x.size for x in arrays.values())
    words = f"Histograms of {len(names)} tensors, {total:,} numbers, on one axis from {number(low)} to {number(high)}."
    title = title or f"Distribution of the {kind}s"
    caption = "A spike at zero with long tails is a matrix with a few strong entries; look for one unlike the others."
    return Picture(chart, title, words, note, data, caption=caption)


def _chosen(source: nn.Module | Mapping[str, Any], patterns: list[str]) -> dict[str, Any]:
    known = dict(source.named_parameters()) if isinstance(source, nn.Module) else dict(source)
    if not known:
        raise ValueError(
            "there must be a tensor to draw, got none; pass a model with weights, or what a trace has seen"
        )
    chosen: dict[str, Any] = {}
    for pattern in patterns:
        found = matching(pattern, known)
        if not found:
            what = "name a parameter" if isinstance(source, nn.Module) else "name a value that was seen"
            raise ValueError(unknown_address(pattern, known, what))
        chosen |= {address: known[address] for address in found}
    if len(chosen) > _PANELS:
        raise ValueError(
            f"one picture holds at most {_PANELS} histograms, got {len(chosen)}; name some of them, as in "
            f"{next(iter(chosen))!r}"
        )
    return chosen


def _range(present: list[np.ndarray]) -> tuple[float, float]:
    """The ends of the axis: nearly all of every tensor fits."""
    if not present:
        return 0.0, 1.0
    # Of a large tensor, numbers spread over it tell where nearly all of it lies.
    few = [x[:: max(1, x.size // _SAMPLED)] for x in present]
    low = float(min(np.quantile(x, _TAIL) for x in few))
    high = float(max(np.quantile(x, 1 - _TAIL) for x in few))
    return (low, high) if high > low else (low - 0.5, low + 0.5)
