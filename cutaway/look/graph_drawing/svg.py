r"""A compute graph as SVG: what flows from the inputs down to the result, and after backward each δ beside its value.

    pill = input or result, hexagon = parameter, rounded box = operator, tinted box = folded module, frame = open module

Colours are Okabe and Ito's, and every kind has a shape of its own. The file follows the reader's light or dark setting
where a browser shows it, and renders without one (Picture.to_png).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cutaway.look.graph_drawing.coordinates import Box, Placed, Sheet, lifted, place
from cutaway.look.graph_drawing.folding import Group, grouped, opened
from cutaway.look.graph_drawing.graph_colours import graph_style
from cutaway.look.graph_drawing.labels import NUMBERS, SMALL, Text, Words, shape_of
from cutaway.look.graph_drawing.rows import arrange
from cutaway.look.graph_drawing.shapes import (
    box_of,
    chip_of,
    frame_of,
    label_of,
    legend_of,
    stroke_of,
    text_of,
    title_width,
)
from cutaway.look.pages.picture import Picture
from cutaway.look.style.theme import FONT
from cutaway.look.style.wording import escape, number
from cutaway.overriding import override

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph

MOST = 2_000  # boxes in one drawing
_TOP = 36.0  # room for the title


class Drawing:
    """A drawing of a graph with some of its groups open, and coordinates for every part."""

    def __init__(
        self, graph: "Graph", open: str | Sequence[str] = (), depth: int | None = None, numbers: int = NUMBERS
    ) -> None:
        self.graph = graph
        self.groups = grouped(graph)
        self.open = opened(self.groups, open, depth)
        self.words = Words(graph, self.groups, numbers)
        shown = [group for group in self.groups if all(around.number in self.open for around in group.above)]
        self.boxes = sum(s.startswith(("op:", "value:", "group:", "end:")) for group in shown for s in group.slots)
        if self.boxes > MOST:
            raise ValueError(
                f"a drawing must have at most {MOST:,} boxes, got {self.boxes:,}; fold some of it, as in depth=1, "
                "or write the page, where modules open by a click"
            )
        self.placed = lifted(place(self._sheet(self.groups[0]), self._size, self._label))

    def _sheet(self, group: Group) -> Sheet:
        inner = {f"group:{part.number}": self._sheet(part) for part in group.inner if part.number in self.open}
        title = title_width(self.words.title(group))
        return Sheet(group.number, title, group.lines, arrange(group.slots, group.lines), inner)

    def _size(self, slot: str) -> tuple[float, float]:
        return self.words.of(slot).measure

    def _label(self, lines: Sequence[object]) -> tuple[float, float]:
        return self.words.label(lines).measure  # type: ignore[arg-type]

    def open_groups(self) -> Iterator[tuple[Group, Box, Placed]]:
        """Each open group with its frame, outer ones first; the outermost has none."""

        def walk(placed: Placed) -> Iterator[tuple[Group, Box, Placed]]:
            for slot, inner in placed.inner.items():
                yield self.groups[int(slot[6:])], placed.boxes[slot], inner
                yield from walk(inner)

        yield self.groups[0], Box(0, 0, self.placed.width, self.placed.height), self.placed
        yield from walk(self.placed)

    @property
    def alt(self) -> str:
        """The drawing in a sentence."""
        sources = [value for value in self.graph.values if value.kind == "input"]
        start = ", ".join(f"{value.name} {shape_of(value)}" for value in sources[:4]) or "no inputs"
        ends = ", ".join(shape_of(value) for value in self.graph.outputs[:4])
        deltas = ", with the δ of each value" if self.words.backward else ""
        folded = sum(group.number not in self.open for group in self.groups)
        return (
            f"Compute graph: {number(len(self.graph.nodes))} operators from {start} to {ends or 'the last value'}, "
            f"drawn as {self.boxes} boxes{f' with {folded} modules folded' if folded else ''}{deltas}."
        )

    @property
    def note(self) -> str:
        """A note on how to read the drawing."""
        notes = []
        most = self.words.numbers
        if any(value.numel() > most for value in self.graph.values):
            notes.append(f"Values of more than {most} numbers stand as their shape (numbers={most}).")
            if self.words.backward:
                notes.append("|δ| is the length of such a δ.")
        if not self.graph.complete:
            notes.append("Something ran that could not be seen, so parts may be missing.")
        return " ".join(notes)

    def svg(self, title: str, dark: bool | None = None) -> str:
        """The drawing as an SVG file; ``title`` may be empty."""
        looks: set[str] = set()
        frames, lines, chips, boxes, labels = [], [], [], [], []
        for group, frame, placed in self.open_groups():
            if group.number:
                frames.append(frame_of(frame, group))
                chips.append(chip_of(frame, self.words.title(group)))
            for slot, box in placed.boxes.items():
                if slot.startswith(("op:", "value:", "end:", "group:")) and slot not in placed.inner:
                    look = self.words.of(slot)
                    looks.add(look.kind)
                    boxes.append(box_of(slot, box, look))
            for route in placed.routes:
                carried = [group.lines[n] for n in route.bundle.lines]
                still = self.words.backward and not any(self.words.share(line) for line in carried)
                lines.append(stroke_of(route, [e for line in carried for e in line.edges], still))
                if route.label is not None:
                    labels.append(label_of(route.label, self.words.label(carried)))
        legend, wide = legend_of(looks, self.words)
        note = Text(self.note if title else "")
        width = max(self.placed.width, wide, 28 + 1.25 * Text(title, "name").width, 28 + note.width)
        top = (_TOP + 18 if note.words else _TOP) if title else 0.0
        height = top + self.placed.height + 34
        shift = (width - self.placed.width) / 2
        head = f'<text class="title" x="14" y="30" font-size="15" font-weight="600">{escape(title)}</text>'
        head += text_of(note, 14, 48) if note.words else ""
        style, kind = graph_style(dark)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" aria-label="{escape(self.alt)}" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'style="max-width:100%;height:auto" font-family="{escape(FONT)}" font-size="{SMALL}">'
            f"<title>{escape(title or self.alt)}</title><style>{style}</style>"
            f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>{head if title else ""}'
            f'<g transform="translate({shift:.1f},{top:.0f})">'
            + "".join([*frames, *lines, *chips, *boxes, *labels])
            + f'</g><g transform="translate(14,{height - 16:.1f})">{legend}</g></svg>'
        )


def draw_svg(
    graph: "Graph",
    open: str | Sequence[str] = (),
    depth: int | None = None,
    *,
    numbers: int = NUMBERS,
    title: str | None = None,
    dark: bool | None = None,
) -> str:
    """The compute graph as an SVG file.

    ``open`` names modules to draw open (`*` for one name, `**` for any depth), ``depth`` opens whole levels; without
    either, levels are opened up to about 40 boxes. Values of up to ``numbers`` numbers are written out, larger ones as
    their shape. ``dark`` chooses the colours; by default they follow the reader's browser.
    """
    drawing = Drawing(graph, open, depth, numbers)
    return drawing.svg(heading(graph) if title is None else title, dark)


_CAPTION = "Follow the arrows from the inputs at the top down to the result: each box is one operator of the real pass."


class GraphPicture(Picture):
    """The drawing as a picture: with its title when it stands alone, without in a page, which has one."""

    def __init__(self, drawing: Drawing, title: str) -> None:
        super().__init__(drawing.svg(title), title, drawing.alt, drawing.note, caption=_CAPTION)
        self.drawing = drawing

    @override
    def to_svg(self, dark: bool = False) -> str:
        """The picture as an SVG file; light or dark as the reader's browser says, unless ``dark``."""
        return self.drawing.svg(self.title, dark or None)

    @override
    def to_png(self, scale: float = 2, dark: bool = False) -> bytes:
        """The picture as a PNG file, ``scale`` pixels for each unit."""
        return Picture(self.to_svg(dark), self.title, self.alt).to_png(scale)

    @override
    def fragment(self, identifier: str) -> str:
        """The picture as part of a page."""
        return Picture(self.drawing.svg(""), self.title, self.alt, self.note, caption=self.caption).fragment(identifier)


def graph_picture(
    graph: "Graph",
    open: str | Sequence[str] = (),
    depth: int | None = None,
    *,
    numbers: int = NUMBERS,
    title: str | None = None,
) -> Picture:
    """The compute graph as a picture, for notebooks, pages and reports; see `draw_svg`."""
    return GraphPicture(Drawing(graph, open, depth, numbers), heading(graph) if title is None else title)


def heading(graph: "Graph") -> str:
    """The name of what ran: the model's class, or simply a compute graph."""
    kind = graph.modules[""].kind if "" in graph.modules else ""
    return f"Compute graph of {kind}" if kind else "Compute graph"
