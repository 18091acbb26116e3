r"""The shapes of a compute graph in SVG: boxes, frames, lines and their words, every text escaped."""

from collections.abc import Sequence

from cutaway.look.graph_drawing.coordinates import Box, Route
from cutaway.look.graph_drawing.folding import Group
from cutaway.look.graph_drawing.labels import LINE_HEIGHT, Look, Text, Words
from cutaway.look.style.wording import escape

KINDS = {
    "input": "input",
    "parameter": "parameter",
    "constant": "constant or buffer",
    "operator": "operator",
    "folded": "folded module",
    "output": "output",
}


def title_width(texts: Sequence[Text]) -> float:
    """How wide the title of an open group is, with the room around it."""
    return round(sum(text.width for text in texts) + 36.0, 1)


def outline(kind: str, box: Box) -> str:
    """The shape of a box."""
    x, y, w, h = box.left, box.top, box.width, box.height
    if kind == "parameter":
        nook = 8.0
        points = [(x + nook, y), (x + w - nook, y), (x + w, y + h / 2)]
        points += [(x + w - nook, y + h), (x + nook, y + h), (x, y + h / 2)]
        d = "L".join(f"{a:.1f},{b:.1f}" for a, b in points)
        return f'<path class="shape" d="M{d}Z"/>'
    round_by = h / 2 if kind in ("input", "output") else 2.0 if kind == "constant" else 6.0
    rect = '<rect class="shape" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.1f}"/>'
    behind = "".join(rect.format(x + d, y + d, w, h, round_by) for d in (6, 3)) if kind == "stack" else ""
    return behind + rect.format(x, y, w, h, round_by)


def box_of(slot: str, box: Box, look: Look) -> str:
    """An operator, a value, a folded module."""
    return (
        f'<g class="box {look.kind}" data-slot="{slot}"><title>{escape(look.hint)}</title>'
        f"{outline(look.kind, box)}{_texts(box, look)}</g>"
    )


def label_of(box: Box, look: Look) -> str:
    """The words on a line."""
    return f'<g class="label"><title>{escape(look.hint)}</title>{_texts(box, look)}</g>'


def _texts(box: Box, look: Look) -> str:
    tall = sum(text.size * LINE_HEIGHT for text in look.texts)
    y = box.top + (box.height - tall) / 2
    parts = []
    for text in look.texts:
        y += text.size * LINE_HEIGHT
        parts.append(text_of(text, box.middle, y - 0.32 * text.size, "middle"))
    return "".join(parts)


def text_of(text: Text, x: float, y: float, anchor: str = "start") -> str:
    """One line of words."""
    weight = ' font-weight="600"' if text.style == "name" else ""
    return (
        f'<text class="{text.style}" x="{x:.1f}" y="{y:.1f}" font-size="{text.size:g}"{weight} '
        f'text-anchor="{anchor}">{escape(text.words)}</text>'
    )


def frame_of(box: Box, group: Group) -> str:
    """The frame of an open module."""
    return (
        f'<g class="frame" data-slot="group:{group.number}"><title>{escape(f"{group.path}: {group.kind}")}</title>'
        f'<rect class="shape" x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        'rx="9"/></g>'
    )


def chip_of(box: Box, texts: Sequence[Text]) -> str:
    """The name of an open module, at the top of its frame."""
    wide = title_width(texts) - 14
    x, y = box.left + 5, box.top + 5
    name, kind = texts
    return (
        f'<g class="chip"><rect class="shape" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="20" rx="5"/>'
        + text_of(name, x + 6, y + 14)
        + text_of(kind, x + 16 + name.width, y + 14)
        + "</g>"
    )


def curve(route: Route) -> str:
    """A smooth stroke from the first slot down to the last, straight past each slot on its way, with room for words."""
    x, top, y = route.stops[0]
    parts = [f"M{x:.1f},{top:.1f}V{y:.1f}"]
    for i, (at, top, bottom) in enumerate(route.stops[1:], 1):
        words = route.label if i == len(route.stops) - 2 else None
        half = (y + top) / 2
        parts.append(
            f"V{top:.1f}" if abs(at - x) < 0.05 else f"C{x:.1f},{half:.1f} {at:.1f},{half:.1f} {at:.1f},{top:.1f}"
        )
        if words is not None:
            parts.append(f"V{words.top:.1f}M{at:.1f},{words.bottom:.1f}")
        parts.append(f"V{bottom:.1f}")
        x, y = at, bottom
    return "".join(parts)


def stroke_of(route: Route, edges: Sequence[int], still: bool) -> str:
    """A line with its tip, if it ends here."""
    x, _, y = route.stops[-1]
    tip = f'<path class="tip" d="M{x:.1f},{y:.1f}l-3.2,-6.5h6.4Z"/>' if route.bundle.labelled else ""
    numbers = " ".join(map(str, edges))
    kind = "line still" if still else "line"
    return f'<g class="{kind}" data-edges="{numbers}"><path class="stroke" d="{curve(route)}"/>{tip}</g>'


def legend_of(looks: set[str], words: Words) -> tuple[str, float]:
    """What the shapes mean, of those that are there, and how wide that is."""
    parts, x = [], 0.0
    shown = looks | ({"folded"} if "stack" in looks else set())
    for kind in KINDS:
        if kind in shown:
            name = Text(KINDS[kind])
            parts.append(f'<g class="box {kind}">{outline(kind, Box(x, -8, 18, 11))}</g>' + text_of(name, x + 23, 1))
            x += 38 + name.width
    if words.backward:
        note = Text("δ: gradient of the output; dashed: none flows", "delta")
        parts.append(text_of(note, x, 1))
        x += note.width + 14
    return "".join(parts), x + 28
