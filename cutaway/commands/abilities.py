"""`cutaway VERB RUN`: any ability of a run at the command line, by its description (tasks/abilities)."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cutaway.commands.flags import asks_for_help, exit_with_help, read_flags
from cutaway.commands.help_pages import help_page, page_width, row
from cutaway.tasks.abilities.ability import Ability, at_place, offers_of
from cutaway.tasks.abilities.flag import Flag
from cutaway.visible_text import data_output

_PRINTED = (
    Flag("out", default="", help="a file to write instead of printing: .csv, .json, .npy or .txt"),
    Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
    Flag("json", bool, default=False, help="print JSON"),
)
_FORMATS = (".csv", ".json", ".npy", ".parquet", ".txt")


def main(ability: Ability, argv: Sequence[str]) -> None:
    """Reads the flags of an ability, asks the run, and prints or writes the answer."""
    if asks_for_help(argv):
        exit_with_help(ability_page(ability))
    asked = parse(ability, argv)
    if ability.command:
        at_place(ability.command)(asked)
    else:
        _print_answer(ability, asked)


def flags_of_ability(ability: Ability) -> list[Flag]:
    """All flags: where no command of its own prints the answer, those of plain printing too."""
    return [*ability.flags, *(() if ability.command else _PRINTED)]


def parse(ability: Ability, argv: Sequence[str]) -> SimpleNamespace:
    """The value of every flag: what was given, else its default."""
    flags = flags_of_ability(ability)
    found = read_flags(flags, f"cutaway {ability.verb}", argv)
    return SimpleNamespace(**{flag.name: found.get(flag.name, flag.default) for flag in flags})


def ability_page(ability: Ability) -> str:
    """What `cutaway VERB --help` shows."""
    more = _by_recipe(ability.verb) if ability.differs else ""
    about = ability.about or f"{ability.help[:1].upper()}{ability.help[1:]}."
    return help_page(f"cutaway {ability.verb}", about, flags_of_ability(ability), more=more, examples=ability.examples)


def _by_recipe(verb: str) -> str:
    """What goes in and out, recipe by recipe: each says its own."""
    from cutaway.recipes.index import find_recipe, known_recipes

    names: dict[str, list[str]] = {}
    for name in known_recipes():
        offer = offers_of(find_recipe(name)).get(verb)
        if offer is not None and offer.gives:
            names.setdefault(offer.gives, []).append(name)
    wide = page_width()
    return "\n".join(["for runs of:", *(row(", ".join(recipes), words, wide) for words, recipes in names.items())])


def _print_answer(ability: Ability, asked: Any) -> None:
    """Prints an answer by what it is: a text, rows, numbers; or writes it, by the ending of --out."""
    out = Path(asked.out)
    if asked.out and out.suffix.lower() not in _FORMATS:
        raise ValueError(f"--out must end in {', '.join(_FORMATS)}, got {asked.out!r}; try --out answer.csv")
    if asked.out and out.exists() and not asked.overwrite:
        raise ValueError(f"--out must be a new file, got {asked.out}, which is there; add --overwrite to replace it")
    from cutaway.atomic_files import write_bytes
    from cutaway.runs.execution import load

    given = {flag.name: _value(flag, getattr(asked, flag.name)) for flag in ability.inputs if flag.on_terminal}
    answer = getattr(load(asked.run), ability.verb)(
        **{name: value for name, value in given.items() if value is not None}
    )
    kind = out.suffix.lower() if asked.out else ".json" if asked.json else ""
    content = written_answer(answer, kind)
    if asked.out:
        write_bytes(out, content)
        print(asked.out, file=sys.stderr)
    else:
        data_output().write(content.decode())


def _value(flag: Flag, value: Any) -> Any:
    """A flag's value as the function takes it: vectors are read from their file; "" is left to the default."""
    if flag.holds == "vectors" and isinstance(value, str) and value:
        from cutaway.runs.embedded_items import read_vectors

        return read_vectors(value)
    return None if value == "" and not flag.required else value


def written_answer(answer: Any, kind: str = "") -> bytes:
    """An answer as the content of a file of that kind; "" for what a person reads."""
    from cutaway.commands.predict import written

    if hasattr(answer, "to_pandas"):
        answer = answer.to_pandas()
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    if hasattr(answer, "columns") or (isinstance(answer, list) and answer and isinstance(answer[0], dict)):
        return written(answer, kind if kind not in ("", ".txt") else ".csv")
    if hasattr(answer, "tolist"):
        return _numbers(answer, kind)
    if kind == ".json":
        return f"{json.dumps(answer, ensure_ascii=False, default=str)}\n".encode()
    if isinstance(answer, dict):
        return "".join(f"{name}  {value}\n" for name, value in answer.items()).encode()
    if isinstance(answer, (list, tuple)):
        return "".join(f"{value}\n" for value in answer).encode()
    return f"{answer}\n".encode()


def _numbers(array: Any, kind: str) -> bytes:
    """An array: as it is in .npy, as lists in JSON, else a line for each row."""
    import io

    import numpy as np

    if kind == ".npy":
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        return file.getvalue()
    if kind == ".json":
        return f"{json.dumps(array.tolist())}\n".encode()
    rows = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    return "".join(",".join(f"{value:.9g}" for value in one) + "\n" for one in rows.tolist()).encode()
