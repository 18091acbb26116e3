"""Colours: against Vega's own schemes, the rules of contrast, and what a colour-blind reader is left with."""

import re

import numpy as np
import pytest
import vl_convert

from cutaway.look.style.colours import CATEGORIES, MAGNITUDE, SIGNED, channels, contrast, ink_on, lightness, table
from cutaway.look.style.theme import DARK, LIGHT


def scheme(name: str, reverse: bool) -> np.ndarray:
    """Eleven colours of one of Vega's schemes, from the picture that Vega draws."""
    spec = {
        "data": {"values": [{"x": i} for i in range(11)]},
        "mark": "rect",
        "encoding": {
            "x": {"field": "x", "type": "ordinal"},
            "color": {
                "field": "x",
                "type": "quantitative",
                "scale": {"scheme": name, "reverse": reverse},
                "legend": None,
            },
        },
    }
    found = re.findall(r'fill="rgb\((\d+), (\d+), (\d+)\)"', vl_convert.vegalite_to_svg(spec))
    assert len(found) == 11
    return np.array(found, dtype=int)


@pytest.mark.parametrize(("ours", "name", "reverse"), [(MAGNITUDE, "viridis", False), (SIGNED, "redblue", True)])
def test_ranges_are_the_published_ones(ours: tuple[str, ...], name: str, reverse: bool):
    away = np.abs(np.array([channels(c) for c in ours]) - scheme(name, reverse))
    assert away.mean() < 15  # Vega smooths its anchors, most of all at the ends of this one
    assert name != "viridis" or away.max() <= 12


def test_magnitude_grows_lighter_all_the_way():
    steps = [lightness(c) for c in MAGNITUDE]
    assert steps == sorted(steps)


def test_signed_is_lightest_at_zero_and_tells_its_ends_apart():
    steps = [lightness(c) for c in SIGNED]
    assert steps[:6] == sorted(steps[:6])
    assert steps[5:] == sorted(steps[5:], reverse=True)
    assert channels(SIGNED[0])[2] > channels(SIGNED[0])[0]  # blue below
    assert channels(SIGNED[-1])[0] > channels(SIGNED[-1])[2]  # red above


@pytest.mark.parametrize("ground", [LIGHT, DARK])
def test_words_and_the_first_curves_stand_out_from_their_ground(ground):
    assert contrast(ground.ink, ground.paper) >= 7
    assert contrast(ground.soft, ground.paper) >= 4.5
    assert all(contrast(colour, ground.paper) >= 2.9 for colour in CATEGORIES[:4])


def test_categories_differ_for_readers_without_red_or_green():
    """Viénot, Brettel and Mollon 1999: what a dichromat sees, in linear light."""
    missing_red = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    missing_green = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    linear = (np.array([channels(c) for c in CATEGORIES]) / 255) ** 2.2
    for seen_by in (np.eye(3), missing_red, missing_green):
        seen = np.clip(linear @ seen_by.T, 0, 1) ** (1 / 2.2) * 255
        apart = np.abs(seen[:, None] - seen[None]).max(-1) + 255 * np.eye(len(seen))
        assert apart.min() > 20


def test_table_runs_from_end_to_end():
    colours = table(MAGNITUDE, 256)
    assert colours.shape == (256, 3)
    assert tuple(colours[0]) == channels(MAGNITUDE[0])
    assert tuple(colours[-1]) == channels(MAGNITUDE[-1])


def test_contrast_by_hand():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)  # (1 + 0.05) / (0 + 0.05)
    assert contrast("#123456", "#123456") == 1


def test_ink_is_readable_on_every_shade():
    for share in np.linspace(0, 1, 21):
        ground = "#{:02X}{:02X}{:02X}".format(*table(MAGNITUDE, 256)[round(255 * share)])
        assert contrast(ink_on(float(share)), ground) >= 4.5
    assert ink_on(0.0) == "#FFFFFF"
    assert ink_on(7.0) == "#000000"  # beyond the end is the end
