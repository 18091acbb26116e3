"""The picture of a pattern shows every visible pair."""

import re
import xml.etree.ElementTree as ElementTree

import torch

from cutaway.blocks.attention_masks.patterns import (
    causal,
    global_tokens,
    segments,
    window,
)

SVG = "{http://www.w3.org/2000/svg}"


def test_picture_shows_every_visible_pair_once():
    picture = ElementTree.fromstring((causal() & (window(2) | global_tokens(1))).to_svg(6))
    cells = picture.findall(f".//{SVG}g/{SVG}g/{SVG}rect[@fill='#0072b2']")
    # Rows: 0 | 01 | 012 | 0 23 | 0 34 | 0 45, in runs of neighbours.
    widths = [round(float(cell.get("width")) / (260 / 6)) for cell in cells]
    assert widths == [1, 2, 3, 1, 2, 1, 2, 1, 2]
    assert "41.7% of 6 × 6 pairs visible" in "".join(picture.itertext())


def test_picture_of_many_tokens_and_examples():
    large = ElementTree.fromstring(window(300)._repr_svg_())
    assert len(large.findall(f".//{SVG}g/{SVG}g/{SVG}rect")) == 1 + 32
    shades = re.findall(r'fill-opacity="([\d.]+)"', window(192).to_svg(192))
    assert set(shades) == {"0.75"}  # 2 × 2 pairs a cell, of which one is in the future on the diagonal
    packed = segments(torch.arange(12).expand(6, 12) // 3).to_svg()
    assert "4 of 6 masks shown" in packed
    assert "segments(&lt;6×12&gt;)" in packed
