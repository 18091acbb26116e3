r"""The theme of all charts: light axes, no frame, colours from colours.py, on light or dark ground.

In a page the ground is not known before it is opened, so charts there name CSS variables, which the page sets for
light, dark and print: a chart changes with its page and is never drawn twice.
"""

from dataclasses import dataclass
from typing import Any

from cutaway.look.style.colours import CATEGORIES, MAGNITUDE, SIGNED

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Ground:
    """What a chart is drawn on: the paper, the ink for words, a softer ink for details, and the lines of a grid."""

    paper: str
    ink: str
    soft: str
    grid: str


LIGHT = Ground(paper="#FFFFFF", ink="#1B1F24", soft="#57606A", grid="#E4E7EB")
DARK = Ground(paper="#15181C", ink="#E8EAED", soft="#A3ABB5", grid="#30363D")
PAGE = Ground(paper="transparent", ink="var(--ink)", soft="var(--soft)", grid="var(--grid)")


def chart_config(ground: Ground) -> dict[str, Any]:
    """The Vega-Lite `config` of our charts."""
    words = dict(labelColor=ground.soft, titleColor=ground.ink, labelFontSize=11, titleFontSize=12)
    return {
        "background": ground.paper,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            **words,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainColor": ground.soft,
            "tickColor": ground.soft,
            "gridColor": ground.grid,
        },
        "legend": {**words, "titleFontWeight": "normal", "gradientLength": 160, "symbolSize": 80},
        "header": {**words, "titleFontWeight": "normal"},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": ground.ink,
            "subtitleColor": ground.soft,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 12,
        },
        "range": {
            "category": list(CATEGORIES),
            "ordinal": list(MAGNITUDE),
            "ramp": list(MAGNITUDE),
            "heatmap": list(MAGNITUDE),
            "diverging": list(SIGNED),
        },
        "mark": {"color": CATEGORIES[0]},
        "line": {"strokeWidth": 2},
        "point": {"filled": True, "size": 30},
        "rule": {"color": ground.soft},
        "text": {"color": ground.ink, "fontSize": 11},
    }
