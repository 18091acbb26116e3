r"""The table of abilities: ours are the files of `verbs/`, yours join by `cut.register` or by an entry point.

[project.entry-points.cutaway]          in the pyproject.toml of your package: a module that registers abilities
reverse = "my_package.reverse"          (or recipes, views, blocks), or an Ability itself: "my_package:REVERSE"
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutaway.tasks.abilities.ability import Ability

GROUP = "cutaway"
_FOLDER = Path(__file__).with_name("verbs")
_own: "dict[str, Ability]" = {}
_read: set[str] = set()  # entry points that were read


def our_verbs() -> dict[str, str]:
    """Our verbs and their lines of help, by the first line of each file: nothing is imported."""
    files = sorted(path for path in _FOLDER.glob("*.py") if path.stem != "__init__")
    return {path.stem: headline(path.read_text(encoding="utf-8")) for path in files}


def headline(text: str | None) -> str:
    """The first line of a docstring, without quotes and its last full stop."""
    return (text or "").split("\n", 1)[0].removeprefix("r").strip('" ').removesuffix(".")


def known_verbs() -> dict[str, str]:
    """All verbs and their lines of help, ours first."""
    read_entry_points()
    return our_verbs() | {verb: ability.help for verb, ability in _own.items()}


def find_ability(verb: str) -> "Ability | None":
    """The ability of a verb; None if there is none."""
    if verb.isidentifier() and (_FOLDER / f"{verb}.py").is_file() and verb != "__init__":
        return import_module(f"cutaway.tasks.abilities.verbs.{verb}").ABILITY
    if verb not in _own:
        read_entry_points()
    return _own.get(verb)


def all_abilities() -> "list[Ability]":
    """Every ability, ours first."""
    return [ability for verb in known_verbs() if (ability := find_ability(verb)) is not None]


def register_ability(ability: "Ability") -> "Ability":
    """Adds an ability of your own; returns it."""
    ours = our_verbs()
    other = _own.get(ability.verb)
    if ability.verb in ours or (other is not None and _place(other) != _place(ability)):
        whose = "Cutaway has it" if ability.verb in ours else "another was registered before"
        raise ValueError(f"the verb of an ability must be free, got {ability.verb!r}: {whose}; choose another verb")
    _own[ability.verb] = ability
    return ability


def _place(ability: "Ability") -> object:
    """Where its function was defined: a cell or a file that is run again registers the same ability again."""
    call = ability.call
    return call if isinstance(call, str) else (call.__module__, getattr(call, "__qualname__", repr(call)))


def read_entry_points() -> None:
    """Imports what installed packages register by an entry point of the group ``cutaway``."""
    if not _any_entry_points():
        return
    from importlib.metadata import entry_points

    from cutaway.tasks.abilities.ability import Ability

    for point in entry_points(group=GROUP):
        if point.value not in _read:
            _read.add(point.value)
            try:
                found = point.load()
            except Exception as error:
                raise ValueError(
                    f"an entry point of group {GROUP!r} must import, got {point.name} = {point.value}, which raises "
                    f"{type(error).__name__}: {error}; mend or remove that package"
                ) from error
            if isinstance(found, Ability):
                register_ability(found)


def _any_entry_points() -> bool:
    """Whether any package has entry points for us: read from files, as importing metadata is slow."""
    for folder in dict.fromkeys(sys.path):
        for file in Path(folder or ".").glob("*.dist-info/entry_points.txt"):
            if f"[{GROUP}]" in file.read_text(encoding="utf-8", errors="replace"):
                return True
    return False
