r"""A picture is a chart or drawing with its title and words, for notebooks, files and pages.

    picture = Picture(chart, title="Loss", alt="Line chart: the loss falls from 4.2 to 1.6 in 1,000 steps.", data=rows)
    picture                          # in Jupyter
    picture.save("loss.png")         # or .svg, .html, .json: no browser, no network

A view is a small file with a function that returns one. Charts are Altair's. The rows that they draw go beside them, as
``data`` under the name "rows" (`alt.Chart(alt.NamedData("rows"))`): Altair would check each row against its schema.
"""

import json
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from cutaway.look.pages.renderer import expect_pixels, renderer
from cutaway.look.style.theme import DARK, LIGHT, PAGE, Ground, chart_config
from cutaway.look.style.wording import escape, whole_characters, writable
from cutaway.overriding import override

LESS = "\\u003c"  # "<" in JSON
Rows = Sequence[Mapping[str, Any]]


class Picture:
    """An Altair chart (or a Vega-Lite dictionary), or SVG or HTML of our own, with its words.

    ``title`` names it, ``alt`` says in words what it shows, ``caption`` tells a reader in one sentence what to see in
    it, and ``note`` what else one must know to read it. ``data`` are the rows of the chart, or several sets of rows by
    name. A chart that ``fills`` is as wide as its column in a page; others keep their size.
    """

    def __init__(
        self,
        content: Any,
        title: str,
        alt: str,
        note: str = "",
        data: Rows | Mapping[str, Rows] | None = None,
        *,
        caption: str = "",
        fills: bool = False,
    ) -> None:
        if not (isinstance(content, (str, Mapping)) or hasattr(content, "to_dict")):
            raise ValueError(
                f"a picture is an Altair chart, a Vega-Lite dictionary, or SVG or HTML in a string, got "
                f"{type(content).__name__}; build one of these"
            )
        if not title or not alt:
            raise ValueError(
                f"a picture needs a title and an alternative text for those who cannot see it, got title={title!r}, "
                f"alt={alt!r}; say in one sentence what it shows"
            )
        self.title, self.alt, self.note, self.caption = (writable(words) for words in (title, alt, note, caption))
        self.fills = fills
        self.markup = content if isinstance(content, str) else ""
        self._chart: dict[str, Any] = {}
        if not self.markup:
            self._chart = dict(content) if isinstance(content, Mapping) else content.to_dict()
            sets = data if isinstance(data, Mapping) else {"rows": data} if data is not None else {}
            if sets:
                self._chart["datasets"] = self._chart.get("datasets", {}) | {k: plain(v) for k, v in sets.items()}

    def captioned(self, caption: str) -> "Picture":
        """The same picture with another sentence on what to see in it."""
        new = copy(self)
        new.caption = writable(caption)
        return new

    @property
    def is_chart(self) -> bool:
        return not self.markup

    @property
    def version(self) -> str:
        """The version of Vega-Lite that the chart was made for, as vl-convert names it: "6.4"."""
        schema = str(self._chart.get("$schema", ""))
        if "/v" not in schema:
            import altair

            schema = f"/{altair.SCHEMA_VERSION}"
        return ".".join(schema.rsplit("/v", 1)[1].split(".")[:2])

    def spec(self, ground: Ground = LIGHT, titled: bool = True) -> dict[str, Any]:
        """The Vega-Lite specification, for a light or dark ground, or for a page that sets our CSS variables."""
        self._expect_chart("a Vega-Lite specification")
        ours, theirs = chart_config(ground), self._chart.get("config", {})
        config = ours | {k: ours.get(k, {}) | v if isinstance(v, dict) else v for k, v in theirs.items()}
        spec = self._chart | {"config": config, "description": self.alt}
        if titled:
            words = " ".join(filter(None, (self.caption, self.note)))
            spec["title"] = {"text": self.title} | ({"subtitle": textwrap.wrap(words, 84)} if words else {})
        return spec

    def to_json(self, dark: bool = False) -> str:
        """The Vega-Lite specification as JSON."""
        return _json(self.spec(DARK if dark else LIGHT))

    def to_svg(self, dark: bool = False) -> str:
        """The picture as an SVG file."""
        if self.markup:
            self._expect_svg("SVG")
            return self.markup
        with renderer(self.title) as library:
            svg: str = library.vegalite_to_svg(self.to_json(dark), vl_version=self.version)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(self.alt)}" ', 1)

    def to_png(self, scale: float = 2, dark: bool = False) -> bytes:
        """The picture as a PNG file, ``scale`` pixels for each unit of the chart."""
        if not scale > 0:
            raise ValueError(f"scale must be above 0, got {scale}; try scale=2")
        if self.markup:
            self._expect_svg("PNG")
        svg = self.to_svg(dark)
        expect_pixels(svg, scale, self.title)
        with renderer(self.title) as library:
            return library.svg_to_png(svg, scale=scale)

    def to_html(self) -> str:
        """A page of its own that opens offline and follows the reader's light or dark setting."""
        from cutaway.look.pages.page import Page
        from cutaway.look.pages.parts import Section

        return Page(self.title, sections=[Section("", [self])]).to_html()

    def fragment(self, identifier: str) -> str:
        """The picture as part of a page; charts are drawn by the page's script (see page.py)."""
        if self.markup:
            body = f'<div class="drawing" role="img" aria-label="{escape(self.alt)}">{self.markup}</div>'
        else:
            spec = _json(self.spec(PAGE, titled=False) | ({"width": "container"} if self.fills else {}))
            body = (
                f'<div class="chart" data-spec="{identifier}" role="img" aria-label="{escape(self.alt)}"></div>\n'
                # inside a script only "<" can end the script or begin a comment
                f'<script type="application/json" id="{identifier}">{spec.replace("<", LESS)}</script>'
            )
        return framed(self.title, body, self.caption, self.note)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the picture, as what the end of the name says: .html, .png, .svg or .json."""
        from cutaway.atomic_files import write_bytes, write_text

        path = Path(path)
        writers = {".html": self.to_html, ".svg": self.to_svg, ".json": self.to_json}
        if path.suffix == ".png":
            write_bytes(path, self.to_png())
        elif path.suffix in writers:
            write_text(path, writers[path.suffix]())
        else:
            raise ValueError(
                f"a picture is saved as .html, .png, .svg or .json, got {path.name!r}; choose one of these"
            )
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For Jupyter: the live chart where it knows Vega-Lite, else an image; nothing is fetched."""
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if self.markup:
            return bundle | {"text/html": self.markup}
        major = self.version.split(".")[0]
        return bundle | {
            f"application/vnd.vegalite.v{major}+json": json.loads(self.to_json()),
            "image/svg+xml": self.to_svg(),
        }

    @override
    def __repr__(self) -> str:
        return f"Picture({self.title!r}: {self.alt})"

    def _expect_chart(self, what: str) -> None:
        if self.markup:
            raise ValueError(f"{what} needs a chart, got the markup of {self.title!r}; save it as .html")

    def _expect_svg(self, what: str) -> None:
        if not self.markup.lstrip().startswith("<svg"):
            raise ValueError(f"{what} needs a chart or SVG, got the HTML of {self.title!r}; save it as .html")


def framed(title: str, body: str, caption: str, note: str) -> str:
    """The HTML of a picture with its title above, and below what to see in it and what to know of it."""
    words = f"<b>{escape(caption)}</b>" * bool(caption) + f"<span>{escape(note)}</span>" * bool(note)
    below = f"<figcaption>{words}</figcaption>\n" if words else ""
    return f"<figure>\n<h3>{escape(title)}</h3>\n{body}\n{below}</figure>"


def plain(value: Any) -> Any:
    """Rows as JSON can hold them: numpy's numbers as Python's, and null for what is no number."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None  # six digits: no eye sees more
    return value


def _json(value: Any) -> str:
    return whole_characters(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
