r"""A page holds a title, words, pictures, tables and samples in one HTML file that opens anywhere, without a network.

    page = Page("Report", lead="What happened.", sections=[Section("Loss", [curves(metrics), "It went down."])])
    page.save("report.html")

Every text is escaped. The charts' runtime (Vega, about 0.9 MB) is in the file once, if it holds a chart at all.
"""

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from cutaway.look.pages.parts import Facts, Section, charts_in, fragments
from cutaway.look.pages.renderer import renderer
from cutaway.look.style.stylesheet import POLICY, SCRIPT, STYLE
from cutaway.look.style.wording import escape


@dataclass(frozen=True)
class Page:
    """A whole page. ``facts`` stand under the lead."""

    title: str
    lead: str = ""
    sections: Sequence[Section] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_html(self) -> str:
        """The page as one self-contained HTML document."""
        charts = [chart for section in self.sections for chart in charts_in(section.parts)]
        names = (f"picture-{i}" for i in count(1))
        head = [f"<h1>{escape(self.title)}</h1>"]
        if self.lead:
            head.append(f'<p class="lead">{escape(self.lead)}</p>')
        if self.facts:
            head.append(Facts(self.facts).fragment())
        body = "\n".join(
            "<section>\n"
            + (f"<h2>{escape(section.title)}</h2>\n" if section.title else "")
            + f"{fragments(section.parts, names)}\n</section>"
            for section in self.sections
        )
        scripts = ""
        if charts:
            bundle = vega_bundle(charts[0].version)
            scripts = (
                "<noscript><p>The charts on this page are drawn by a script in it, which is switched off here.</p>"
                f"</noscript>\n<script>{bundle}</script>\n<script>{SCRIPT}</script>\n"
            )
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<header>\n{chr(10).join(head)}\n</header>\n<main>\n{body}\n</main>\n{scripts}</body>\n</html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page: whole, or not at all."""
        from cutaway.atomic_files import write_text

        write_text(path, self.to_html())
        return Path(path)

    def _repr_html_(self) -> str:
        """For Jupyter: in a frame, so that the page's style and scripts stay inside it."""
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{html.escape(self.to_html())}" '
            'style="width: 100%; height: 40rem; border: 0"></iframe>'
        )


@cache
def vega_bundle(version: str) -> str:
    """The JavaScript that draws charts: Vega, Vega-Lite and Vega-Embed in one piece."""
    with renderer("the script of the page") as library:
        bundle: str = library.javascript_bundle(vl_version=version)
    assert not re.search("</script|<!--", bundle, re.IGNORECASE), "the bundle cannot stand inside a page"
    return bundle
