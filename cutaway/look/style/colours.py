r"""Colours that everybody can tell apart, on light and on dark ground.

    categories    Okabe and Ito 2008, without black and yellow, which cannot be seen on one of the two grounds
    magnitude     viridis (Smith and van der Walt 2015): lightness rises evenly from 0 to the largest
    signed        ColorBrewer's RdBu (Brewer 2003), blue below zero, red above, lightest at zero

Charts and images take them from here, so that both show one number in one colour.
"""

import numpy as np

CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MAGNITUDE = (
    *("#440154", "#482475", "#414487", "#355F8D", "#2A788E", "#21918C"),
    *("#22A884", "#44BF70", "#7AD151", "#BDDF26", "#FDE725"),
)
SIGNED = (
    *("#053061", "#2166AC", "#4393C3", "#92C5DE", "#D1E5F0", "#F7F7F7"),
    *("#FDDBC7", "#F4A582", "#D6604D", "#B2182B", "#67001F"),
)


def channels(colour: str) -> tuple[int, int, int]:
    """The red, green and blue of a colour, each from 0 to 255.

    >>> channels("#FF8000")
    (255, 128, 0)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def table(colours: tuple[str, ...], size: int) -> np.ndarray:
    """``size`` colours from the first to the last, even steps between the anchors: (size, 3) bytes.

    >>> table(("#000000", "#FFFFFF"), 3).tolist()
    [[0, 0, 0], [128, 128, 128], [255, 255, 255]]
    """
    anchors = np.array([channels(colour) for colour in colours], dtype=float)
    at = np.linspace(0, len(colours) - 1, size)
    columns = [np.interp(at, np.arange(len(colours)), anchors[:, c]) for c in range(3)]
    return np.floor(np.stack(columns, axis=1) + 0.5).astype(np.uint8)


def lightness(colour: str) -> float:
    """Relative luminance of a colour, 0 for black and 1 for white (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(channels(colour)) / 255]
    return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


def contrast(one: str, other: str) -> float:
    """How well one colour stands out from another, from 1 to 21 (WCAG 2.2): 3 for marks, 4.5 for text."""
    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


def ink_on(share: float, colours: tuple[str, ...] = MAGNITUDE) -> str:
    """Black or white, whichever is read better on the colour at ``share`` (0 to 1) of a range."""
    ground = "#{:02X}{:02X}{:02X}".format(*table(colours, 256)[round(255 * min(max(share, 0.0), 1.0))])
    return max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, ground))
