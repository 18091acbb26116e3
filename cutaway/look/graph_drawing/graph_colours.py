r"""The colours of compute graphs, light and dark, in drawings and in the page.

Fills are pale tints of the stroke's colour, which is Okabe and Ito's (colours.py), darkened or lightened until it
stands out from its ground at least 3 : 1, words at least 4.5 : 1.
"""

from cutaway.look.style.theme import DARK, LIGHT

# selector: (property, light, dark) …
_RULES: dict[str, tuple[tuple[str, str, str], ...]] = {
    ".paper": (("fill", LIGHT.paper, DARK.paper),),
    "text": (("fill", LIGHT.ink, DARK.ink),),
    "text.soft": (("fill", LIGHT.soft, DARK.soft),),
    "text.delta": (("fill", "#A84300", "#FFA366"),),
    ".stroke": (("fill", "none", "none"), ("stroke", "#7A8490", "#7D8793"), ("stroke-width", "1.4", "1.4")),
    ".tip": (("fill", "#7A8490", "#7D8793"),),
    ".still .stroke": (("stroke-dasharray", "4 3", "4 3"),),
    ".shape": (("stroke-width", "1.3", "1.3"),),
    ".operator .shape": (("fill", "#F6F8FA", "#1F242A"), ("stroke", "#57606A", "#8B949E")),
    ".input .shape": (("fill", "#DDEEFA", "#10324A"), ("stroke", "#0072B2", "#56B4E9")),
    ".parameter .shape": (("fill", "#FCF1DA", "#3D2E0C"), ("stroke", "#9A6A00", "#E69F00")),
    ".constant .shape": (("fill", LIGHT.paper, DARK.paper), ("stroke", "#57606A", "#8B949E")),
    ".output .shape": (("fill", "#DAF1E8", "#0C3A2C"), ("stroke", "#007A59", "#33C79A")),
    ".folded .shape, .stack .shape": (("fill", "#E9EAF6", "#2A2C45"), ("stroke", "#5B5FA8", "#9CA0E8")),
    ".frame .shape": (
        ("fill", "#8A8FC4", "#8A8FC4"),
        ("fill-opacity", "0.07", "0.09"),
        ("stroke", "#A9ADD6", "#565A92"),
    ),
    ".chip .shape": (("fill", "#E9EAF6", "#2A2C45"), ("stroke", "none", "none")),
}


def _sheet(kind: str, which: int) -> str:
    return "".join(
        ",".join(f".{kind} {part.strip()}" for part in selector.split(","))
        + "{"
        + ";".join(f"{rule[0]}:{rule[which]}" for rule in rules)
        + "}"
        for selector, rules in _RULES.items()
    )


def graph_style(dark: bool | None = None) -> tuple[str, str]:
    """A style sheet and the class that it holds for; without a choice it follows the reader's setting."""
    if dark is not None:
        kind = "cutaway-graph-dark" if dark else "cutaway-graph-light"
        return _sheet(kind, 2 if dark else 1), kind
    kind = "cutaway-graph"
    # what renders without a browser passes over the second part
    return f"{_sheet(kind, 1)}@media screen and (prefers-color-scheme:dark){{{_sheet(kind, 2)}}}", kind
