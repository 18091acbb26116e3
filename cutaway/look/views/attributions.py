r"""Attributions as a picture: of tokens as coloured text, of features as bars, of images as a heat map."""

from collections.abc import Sequence

from cutaway.look.attributions import Attributions
from cutaway.look.picture import Picture
from cutaway.look.views.bars import bar_chart
from cutaway.look.views.matrices import heatmap
from cutaway.look.views.strips import token_strip
from cutaway.look.wording import number


def saliency_map(attributions: Attributions, names: Sequence[str] | None = None, *, title: str = "") -> Picture:
    """What mattered. ``names`` are the tokens of a text, or the features of a table.

    Vectors of tokens (time, width), taken at an address, are summed over their width; channels of an image (channels,
    height, width) over the channels. The note tells how far integrated gradients are from adding up.
    """
    a = attributions
    title = title or a.kind[0].upper() + a.kind[1:]
    values = a.values
    if a.at is not None and values.ndim == 2:
        picture = token_strip(a.by_token, names or list(map(str, range(len(values)))), title=title, value=a.kind)
    elif values.ndim == 1:
        names = [f"input {i}" for i in range(len(values))] if names is None else names
        if len(names) != len(values):
            raise ValueError(f"there must be a name for every input, got {len(names)} for {len(values)}; give them all")
        numbers = {
            f"{name}" if list(names).count(name) == 1 else f"{name} ({i})": x
            for i, (name, x) in enumerate(zip(names, values.tolist()))
        }
        chart, rows = bar_chart(numbers, a.kind, of="input")
        strongest = max(numbers, key=lambda name: abs(numbers[name]))
        words = f"Strongest: {strongest}, {number(numbers[strongest], 3)}."
        picture = Picture(chart, title, f"Bars: {a.kind} of {len(numbers)} inputs. {words}", words, rows)
    elif values.ndim in (2, 3):
        flat = values if values.ndim == 2 else values.sum(0)
        picture = heatmap(flat, title=title, value=a.kind)
    else:
        raise ValueError(
            f"attributions are drawn for features, tokens or images, got shape {values.shape}; sum over an axis first"
        )
    picture.note = f"{_told(a)} {picture.note}".strip()
    return picture


def _told(a: Attributions) -> str:
    if a.gap is None or a.baseline is None:
        return f"The score is {number(a.score)}."
    return (
        f"The score is {number(a.score)}, {number(a.baseline)} at the baseline: a difference of "
        f"{number(a.score - a.baseline)}, which the attributions miss by {number(a.gap, 2)}."
    )
