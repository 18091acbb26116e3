r"""What the documentation site holds besides the pages of docs/: the README, an API reference, the examples.

mkdocs calls the hooks below. The reference has a page for each kind of block and each room of the house, made of the
docstrings; links that lead to a source file on a code host lead to its place in the reference here.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
CODE = ROOT / "cutaway"
ROOTED = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def rooms() -> dict[str, list[Path]]:
    """The pages of the reference: the name of each room, and the files in it."""
    found: dict[str, list[Path]] = {}
    for path in sorted(CODE.rglob("*.py")):
        if path.name not in ("__init__.py", "__main__.py"):
            found.setdefault(".".join(("cutaway", *path.parent.relative_to(CODE).parts)), []).append(path)
    return found


def module_of(path: Path) -> str:
    return ".".join(("cutaway", *path.relative_to(CODE).with_suffix("").parts))


def examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.py"))


def on_config(config: Any) -> Any:
    """Adds examples and reference to the navigation."""
    parts: dict[str, list[Any]] = {}
    for room in rooms():
        part = room.split(".")[1] if "." in room else "cutaway"
        parts.setdefault(part, []).append({room.removeprefix("cutaway."): f"reference/{room}.md"})
    reference = [{part: pages if len(pages) > 1 else next(iter(pages[0].values()))} for part, pages in parts.items()]
    shown = [{path.stem.replace("_", " "): f"examples/{path.stem}.md"} for path in examples()]
    config.nav = [*config.nav, {"Examples": shown}, {"Reference": reference}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made here."""
    pages = {name: (ROOT / source).read_text(encoding="utf-8") for name, source in ROOTED.items()}
    for path in examples():
        pages[f"examples/{path.stem}.md"] = (
            f"# examples/{path.name}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
        )
    for room, paths in rooms().items():
        blocks = "\n\n".join(f"::: {module_of(path)}" for path in paths)
        pages[f"reference/{room}.md"] = f"# {room}\n\n{_summary(room)}\n\n{blocks}\n"
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def _summary(room: str) -> str:
    init = CODE.joinpath(*room.split(".")[1:], "__init__.py")
    first = re.match(r'r?"""(.*?)("""|\n\n)', init.read_text(encoding="utf-8"), re.DOTALL)
    return first.group(1).strip() if first else ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links from the repository's places to the site's."""
    depth = page.file.src_uri.count("/")
    base = Path() if page.file.src_uri in ROOTED else Path("docs")

    def led(match: re.Match[str]) -> str:
        words, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        place = (ROOT / base / target).resolve()
        if not place.is_relative_to(ROOT) or not place.exists():
            return match.group(0)
        inside = place.relative_to(ROOT).as_posix()
        up = "../" * depth
        for name, source in ROOTED.items():
            if inside == source:
                return f"[{words}]({up}{name}{anchor})"
        if inside.startswith("docs/"):
            return f"[{words}]({up}{inside.removeprefix('docs/')}{anchor})"
        if inside.startswith("examples/") and place.suffix == ".py":
            return f"[{words}]({up}examples/{place.stem}.md)"
        if inside == "examples":
            return f"[{words}]({up}examples/{examples()[0].stem}.md)"
        if inside.startswith("cutaway/") and place.suffix == ".py" and place.name != "__init__.py":
            module = module_of(place)
            return f"[{words}]({up}reference/{module.rsplit('.', 1)[0]}.md#{module})"
        if inside.startswith("cutaway") and place.is_dir():
            room = ".".join(place.relative_to(ROOT).parts)
            known = room if room in rooms() else next((name for name in rooms() if name.startswith(f"{room}.")), None)
            return f"[{words}]({up}reference/{known}.md)" if known else words
        return words  # files that the site does not show

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)", led, _pictures(markdown, base))


def _pictures(markdown: str, base: Path) -> str:
    return markdown.replace("](docs/", "](") if base == Path() else markdown


# The theme's search would ask a server for this script when a page is opened from a file; nothing is fetched here.
FETCHED, OURS = "https://unpkg.com/iframe-worker/shim", "pictures/search_in_a_frame.js"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    return output.replace(FETCHED, "../" * page.file.src_uri.count("/") + OURS)


def on_post_template(output: str, **_: Any) -> str:
    return output.replace(FETCHED, OURS)
