r"""Sample series with classes: a plateau (cylinder), a slow rise (bell) or a slow fall (funnel), in noise.

    cylinder(t) = (6 + η) · [a ≤ t ≤ b]                      + ε(t)
    bell(t)     = (6 + η) · [a ≤ t ≤ b] · (t − a) / (b − a)  + ε(t)
    funnel(t)   = (6 + η) · [a ≤ t ≤ b] · (b − t) / (b − a)  + ε(t)

η and ε(t) are standard normal, a is drawn from 16 … 32 and b − a from 32 … 96, t = 1 … 128. Saito 1994.
"""

from typing import TYPE_CHECKING

import numpy as np

from cutaway.data.seeded_draws import draw_integers, draw_uniform
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

EACH, STEPS = 310, 128  # series of a class, as many as the archive has, and steps
CLASSES = ("bell", "cylinder", "funnel")


def sample_series(name: str) -> "pandas.DataFrame":
    """The sample as a table: a series in each row, its class first."""
    pd = need("pandas", "tables", f"the sample {name}")
    count = EACH * len(CLASSES)
    labels = np.arange(count) % len(CLASSES)
    t = np.arange(1, STEPS + 1)
    a = 16 + draw_integers(0, "cbf a", 0, count, 17)[:, None]
    b = a + 32 + draw_integers(0, "cbf b", 0, count, 65)[:, None]
    shapes = np.stack([(t - a) / (b - a), np.ones((count, STEPS)), (b - t) / (b - a)])[labels, np.arange(count)]
    noise = _normal("cbf e", count * STEPS).reshape(count, STEPS)
    values = (6 + _normal("cbf n", count)[:, None]) * ((t >= a) & (t <= b)) * shapes + noise
    frame = pd.DataFrame(values.round(4), columns=[f"t{i}" for i in t])
    frame.insert(0, "class", [CLASSES[i] for i in labels])
    frame.attrs["name"] = name
    return frame


def _normal(purpose: str, count: int) -> np.ndarray:
    """Standard normal numbers from uniform ones (Box and Muller 1958)."""
    u, v = draw_uniform(0, purpose, 0, count), draw_uniform(0, purpose, 1, count)
    return np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v)


__all__ = ["CLASSES", "sample_series"]
