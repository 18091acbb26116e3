"""`cutaway list`: what there is."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from cutaway.commands.flag_types import PLACE
from cutaway.commands.flags import parse_flags
from cutaway.visible_text import raw_stream


@dataclass(frozen=True)
class Listing:
    """Lists what Cutaway has: its blocks with their equations, its recipes, the abilities of runs, its views, its
    embedded data."""

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway list recipes",
        "cutaway list data --json",
        "cutaway list abilities runs/gpt-1",
    )

    what: Annotated[Literal["blocks", "recipes", "abilities", "views", "data"], PLACE] = "blocks"
    """what to list"""
    run: Annotated[str, PLACE] = ""
    """of abilities: a run folder or a recipe, to list what it can do (default: all that there are)"""
    json: bool = False
    """print JSON instead of a table"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(Listing, "cutaway list", argv)
    if asked.run and asked.what != "abilities":
        raise ValueError(f"a run is for `cutaway list abilities RUN`, got {asked.run!r} for {asked.what}; leave it out")
    if asked.what == "abilities":
        _list_abilities(asked.run, asked.json)
        return
    rows = ROWS[asked.what]()
    if asked.json:
        json.dump(rows, sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        _print_table(rows)


def blocks() -> list[dict[str, str]]:
    """Every registered block with its equation, by kind."""
    from cutaway.registry import entries

    return [
        {"kind": entry.kind, "file": entry.file, "block": entry.name, "equation": entry.equation} for entry in entries()
    ]


def recipes() -> list[dict[str, str]]:
    """Every recipe with what it does and what it reaches."""
    from cutaway.commands.train import summary
    from cutaway.recipes.index import find_recipe, known_recipes

    kinds = {name: find_recipe(name) for name in known_recipes()}
    return [{"recipe": name, "what": summary(kind), "quality": kind.quality} for name, kind in kinds.items()]


def views() -> list[dict[str, str]]:
    """Every registered view of a run, with what it draws and the runs that it suits."""
    from cutaway.registry import views as registered

    return [
        {"section": view.section, "view": view.name, "what": view.summary, "suits": view.runs} for view in registered()
    ]


def data() -> list[dict[str, str]]:
    """The samples that need no download."""
    from cutaway.data.samples.embedded import list_samples

    return [{"name": x.name, "kind": x.kind, "size": x.size, "about": x.about} for x in list_samples()]


ROWS: dict[str, Any] = {"blocks": blocks, "recipes": recipes, "views": views, "data": data}


def _list_abilities(of: str, as_json: bool) -> None:
    """What can be asked of runs, or of one."""
    from cutaway.runs.abilities import abilities

    found = abilities(of or None)
    if as_json:
        json.dump(found.to_dict(), sys.stdout, ensure_ascii=False, indent=1)
        print()
        return
    _print_table([{"verb": one.verb, "what": one.help, "about": one.offer.gives if one.offer else ""} for one in found])


def _print_table(rows: list[dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=raw_stream(sys.stdout))
    if not console.is_terminal:
        console = Console(width=160)  # a pipe has no width of its own
    table = Table(box=None, pad_edge=False, header_style="bold")
    before: dict[str, str] = {}
    for name in rows[0]:
        table.add_column(name, overflow="fold", no_wrap=name not in ("equation", "what", "quality", "suits", "about"))
    for row in rows:
        same = [before.get(name) == value for name, value in row.items()]
        blank = same.index(False) if False in same else 0  # what stands in the row above is not said again
        table.add_row(*(Text("" if i < blank else value) for i, value in enumerate(row.values())))
        before = row
    with console.capture() as kept:  # rich would exit by itself if the pipe is closed
        console.print(table)
    print(kept.get(), end="", file=raw_stream(sys.stdout))  # rich's own escape sequences, around our own words
