"""The colours of graphs can be told from their grounds, light and dark."""

import re

import pytest

from cutaway.look.graph_drawing.graph_colours import _RULES, graph_style
from cutaway.look.style.colours import contrast
from cutaway.look.style.theme import DARK, LIGHT


@pytest.mark.parametrize(("which", "paper"), [(1, LIGHT.paper), (2, DARK.paper)])
def test_words_and_outlines_stand_out(which: int, paper: str):
    for selector, rules in _RULES.items():
        for rule in rules:
            if selector.startswith("text"):
                assert contrast(rule[which], paper) >= 4.5, selector
            elif rule[0] == "stroke" and rule[which] != "none" and ".frame" not in selector:
                assert contrast(rule[which], paper) >= 3, selector


@pytest.mark.parametrize(("which", "ink"), [(1, LIGHT.ink), (2, DARK.ink)])
def test_names_are_read_on_their_boxes(which: int, ink: str):
    fills = {s: r[which] for s, rules in _RULES.items() for r in rules if r[0] == "fill" and s.endswith(".shape")}
    assert len(fills) == 8
    for selector, fill in fills.items():
        if ".frame" not in selector:
            assert contrast(ink, fill) >= 4.5, selector


def test_rules_hold_for_their_own_drawing_alone():
    for dark in (None, False, True):
        style, kind = graph_style(dark)
        selectors = re.findall(r"(?:^|[},{])([.a-z][^{},]*)(?=[,{])", re.sub(r"@media[^{]*", "", style))
        assert all(selector.startswith(f".{kind} ") for selector in selectors)
        assert ("prefers-color-scheme" in style) == (dark is None)
