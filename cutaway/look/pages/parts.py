r"""The parts of a page besides pictures: tables, samples, facts, and folded parts that a reader can open.

Each knows its own HTML, with every text in it escaped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import escape, number


@dataclass(frozen=True)
class Table:
    """Rows under columns; numbers are set to the right. The first cell of a row names it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row must have a cell for each of the {len(self.columns)} columns, got {len(row)}: "
                    f"{list(row)!r}; fill it up with ''"
                )

    def fragment(self) -> str:
        cells = [[row[i] for row in self.rows if row[i] != ""] for i in range(len(self.columns))]
        right = [bool(column) and all(map(_is_number, column)) for column in cells]
        classes = [' class="number"' if r else "" for r in right]
        head = "".join(f'<th scope="col"{c}>{escape(name)}</th>' for name, c in zip(self.columns, classes))
        body = "\n".join(
            f'<tr><th scope="row"{classes[0]}>{escape(number(row[0]))}</th>'
            + "".join(f"<td{c}>{escape(number(value))}</td>" for value, c in zip(row[1:], classes[1:]))
            + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        table = f"{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        return f'<div class="wide"><table>{table}</table></div>'


@dataclass(frozen=True)
class Sample:
    """Text exactly as it came, in a fixed-width font."""

    text: str
    caption: str = ""

    def fragment(self) -> str:
        caption = f"<h3>{escape(self.caption)}</h3>\n" if self.caption else ""
        return f"<figure>\n{caption}<pre>\n{escape(self.text)}</pre>\n</figure>"  # HTML drops the first newline


@dataclass(frozen=True)
class Facts:
    """A few figures with their names, to be taken in at a glance."""

    facts: Mapping[str, Any]

    def fragment(self) -> str:
        items = (
            f"<div><dt>{escape(name)}</dt><dd>{escape(number(value))}</dd></div>" for name, value in self.facts.items()
        )
        return f"<dl>\n{chr(10).join(items)}\n</dl>"


@dataclass(frozen=True)
class Folded:
    """Parts under a line that opens and closes them; closed at first."""

    title: str
    parts: Sequence["Part"]


Part = Picture | Table | Sample | Facts | Folded | str


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it. A plain string is a paragraph."""

    title: str
    parts: Sequence[Part]


def charts_in(parts: Sequence[Part]) -> Iterator[Picture]:
    """The charts among parts, also inside folds."""
    for part in parts:
        if isinstance(part, Folded):
            yield from charts_in(part.parts)
        elif isinstance(part, Picture) and part.is_chart:
            yield part


def fragments(parts: Sequence[Part], names: Iterator[str]) -> str:
    """The HTML of parts one after the other; each picture takes the next of the names.

    Pictures that follow each other share rows, as many in one as there is room for.
    """
    out = []
    for pictured, group in groupby(parts, key=lambda part: isinstance(part, Picture)):
        html = "\n".join(_fragment(part, names) for part in group)
        out.append(f'<div class="pictures">\n{html}\n</div>' if pictured else html)
    return "\n".join(out)


def _fragment(part: Part, names: Iterator[str]) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"
    if isinstance(part, Picture):
        return part.fragment(next(names))
    if isinstance(part, Folded):
        return f"<details>\n<summary>{escape(part.title)}</summary>\n{fragments(part.parts, names)}\n</details>"
    return part.fragment()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
