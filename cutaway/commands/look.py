"""`cutaway look RUN`: the pictures that suit a run, on one page."""

import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cutaway.commands.flag_types import PLACE
from cutaway.commands.flags import parse_flags
from cutaway.tasks.abilities.ability import Offer, offers_of
from cutaway.visible_text import raw_stream, visible

if TYPE_CHECKING:
    from cutaway.look.pages.page import Page
    from cutaway.runs.pages import PlacedPicture, Progress
    from cutaway.runs.run import Run

KINDS = (".html", ".png", ".svg")
_QUIET = 2.0  # seconds without a line about progress, where there is no terminal


@dataclass(frozen=True)
class Look:
    """Draws what is inside a run's model: the pictures that suit its kind (`cutaway list views`), on one page.

    With an address, the value there, by its shape. Wrong addresses are answered with the nearest that there are.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway look runs/gpt-1",
        'cutaway look runs/gpt-1 "The function returns" --out page.html',
        "cutaway look runs/gpt-1 --perplexity 5 30 100",
        "cutaway look runs/gat-1 --vertex Ann",
        'cutaway look runs/gpt-1 --at "blocks.*.attention.weights" --out weights.png',
    )

    run: Annotated[str, PLACE]
    """the run folder"""
    input: Annotated[str, PLACE] = ""
    """a text, for tables a CSV or Parquet file, for graphs a vertex; - for standard input (default: data not trained
    on)"""
    vertex: str = ""
    """of a graph: the name of a vertex, in place of the input"""
    at: str = ""
    """the address of a value, or a pattern: blocks.0.attention.weights, blocks.*.mlp.hidden"""
    out: str = ""
    """a page, .html (default: look.html in the run); .png or .svg: a file for each picture, numbered if several"""
    perplexity: tuple[float, ...] = ()
    """of maps by t-SNE, about how many neighbours a point has; several stand side by side (default: 30, or fewer)"""
    json: bool = False
    """print JSON: the files, and every picture in words"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Look, "cutaway look", argv)
    kind = Path(asked.out).suffix.lower() if asked.out else ".html"
    if kind not in KINDS:
        raise ValueError(f"--out must end in .html, .png or .svg, got {asked.out!r}; try --out picture.html")
    from cutaway.runs.execution import load
    from cutaway.runs.pages import make_page, picture_rows
    from cutaway.tasks.subjects import subject_of
    from cutaway.training.run_folder.folder import telling_changed_config

    run = load(asked.run)
    takes = offers_of(type(run.recipe)).get("look", Offer("look")).takes
    if asked.vertex and not takes.startswith("NAME"):
        raise ValueError(f"--vertex is for runs on a graph, got a run of {run.recipe.name!r}; leave it out")
    if asked.vertex and asked.input:
        raise ValueError(
            f"a vertex stands in place of the input, got both {asked.vertex!r} and {asked.input!r}; leave one"
        )
    with tempfile.TemporaryDirectory() as folder, telling_changed_config(run.path):
        subject = subject_of(run, _given(takes, asked.vertex or asked.input, Path(folder)))
    if any(not 1 <= perplexity < float("inf") for perplexity in asked.perplexity):
        raise ValueError(f"--perplexity must be 1 or more, got {min(asked.perplexity):g}; try --perplexity 5 30 100")
    subject = dataclasses.replace(subject, perplexity=asked.perplexity)
    with progress_shown(quiet=asked.json) as progress, telling_changed_config(run.path):
        page, placed = make_page(run, subject, asked.at or None, progress)
        files = _write_page(run, page, asked.out) if kind == ".html" else _write_pictures(placed, Path(asked.out))
    if asked.json:
        answer = {"files": [str(path) for path in files], "pictures": picture_rows(placed)}
        json.dump(answer, sys.stdout, ensure_ascii=False)
        print()
        return
    for path in files:
        print(path)


@contextmanager
def progress_shown(quiet: bool = False) -> "Iterator[Progress | None]":
    """Shows on standard error what is being drawn: a bar at a terminal, else a line a view once it takes long."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (MofNCompleteColumn(), BarColumn(20), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(file=raw_stream(sys.stderr)), transient=True) as bar:
            task = bar.add_task("")
            yield lambda next_one, done, total: bar.update(
                task, description=visible(next_one), completed=done, total=total
            )
    else:
        begun = time.monotonic()

        def write_line(next_one: str, done: int, total: int) -> None:
            if time.monotonic() - begun >= _QUIET:
                print(f"{done + 1}/{total}  {next_one}", file=sys.stderr, flush=True)

        yield write_line


def _given(takes: str, asked: str, folder: Path) -> str | None:
    """The input; what comes from standard input as a text, or where the recipe takes files as one in the folder."""
    if asked != "-":
        return asked or None
    content = sys.stdin.buffer.read()
    if takes in ("", "NAME"):
        return content.decode()
    (folder / "stdin").write_bytes(content)
    return str(folder / "stdin")


def _write_page(run: "Run", page: "Page", out: str) -> list[Path]:
    if out:
        return [page.save(out)]
    from cutaway.training.run_folder.checkpoints import writing_to

    with writing_to(run.path):
        return [page.save(run.path / "look.html")]


def _write_pictures(placed: "list[PlacedPicture]", out: Path) -> list[Path]:
    """One picture under the name that was asked for, several as name-1, name-2 …, in the order of the page."""
    if not placed:
        raise ValueError(f"there must be a picture to write to {out}, got none that suits; leave --out away for a page")
    names = [out] if len(placed) == 1 else [out.with_stem(f"{out.stem}-{i}") for i in range(1, len(placed) + 1)]
    return [one.picture.save(path) for one, path in zip(placed, names)]
