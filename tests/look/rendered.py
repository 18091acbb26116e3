"""What a picture or a page came to: its colours, words and tags."""

import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from PIL import Image

from cutaway.look import Picture


def image_of(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGBA")


def expect_drawn(picture: Picture, colours: int = 10) -> None:
    """Renders to PNG and SVG of one size, with a title, and more than a few colours."""
    drawn = picture.to_svg()
    svg = ElementTree.fromstring(drawn)
    width, height = (round(float(svg.attrib[side])) for side in ("width", "height"))
    image = image_of(picture.to_png(scale=2))
    assert image.size == (2 * width, 2 * height)
    assert len(image.getcolors(maxcolors=1_000_000) or []) > colours
    assert svg.attrib["aria-label"] == picture.alt
    assert picture.title in words_in(drawn)


def words_of(picture: Picture) -> list[str]:
    """The texts in the picture as it is drawn."""
    return words_in(picture.to_svg())


def words_in(svg: str) -> list[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [" ".join(text.itertext()) for text in texts]  # lines of one text side by side


def cells_of(picture: Picture) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The colour of each cell drawn, by its corner, in a heat map."""
    found = re.findall(r'<path d="M(\d+),(\d+)h\d+v\d+h-\d+Z" fill="rgb\((\d+), (\d+), (\d+)\)"', picture.to_svg())
    return {(int(x), int(y)): (int(r), int(g), int(b)) for x, y, r, g, b in found}


def rows_of(picture: Picture, name: str = "rows") -> list[dict[str, Any]]:
    """The data of a chart."""
    return picture.spec()["datasets"][name]


class Tags(HTMLParser):
    """A page taken apart: its tags with their attributes in order, its scripts, and all other text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(html)
        self.close()
        assert not self._inside, f"never closed: {self._inside}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        self.text += " "
        if tag not in ("meta", "br", "img", "link"):
            self._inside.append(tag)
        if tag == "script":
            self.scripts.append((attributes, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._inside, f"</{tag}> closes nothing"
        assert self._inside[-1] == tag, f"</{tag}> inside <{self._inside[-1]}>"
        self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self._inside or self._inside[-1] != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def expect_self_contained(html: str, charts: int) -> Tags:
    """One file, nothing fetched, the runtime once if there are charts, and every picture with words for it."""
    page = Tags(html)
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "action", "data"):
            assert attributes.get(name, "data:").startswith(("data:", "#")), (tag, attributes)
    assert not {"link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}
    policy = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policy) == 1
    assert "default-src 'none'" in policy[0]
    assert "http" not in policy[0]
    assert sum(len(text) > 100_000 for _, text in page.scripts) == (1 if charts else 0)
    places = [a for a in page.all("div") if "data-spec" in a]
    assert len(places) == charts
    specs = {a["id"]: json.loads(text) for a, text in page.scripts if a.get("type") == "application/json"}
    assert {a["data-spec"] for a in places} == set(specs)
    assert all(a["role"] == "img" and a["aria-label"] for a in places)
    assert html.startswith("<!DOCTYPE html>")
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert page.all("meta")[0] == {"charset": "utf-8"}
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    return page
