"""`cutaway --print-completion SHELL`: a script that completes verbs, recipes and flags."""

import contextlib
import dataclasses
import io
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union

import tyro

from cutaway.commands.flag_types import flags_of
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import find_ability, known_verbs

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
COMMANDS = ("demo", "list", "train", "tune", "look", "cluster", "import")
SHELLS = ("bash", "zsh", "fish")
HELP = """usage: cutaway --print-completion SHELL

Prints a script that completes verbs, recipes and flags. For this shell only:

  bash  eval "$(cutaway --print-completion bash)"
  zsh   eval "$(cutaway --print-completion zsh)"
  fish  cutaway --print-completion fish | source

Put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish to have it always."""


def main(argv: Sequence[str]) -> None:
    if any(word in ("-h", "--help") for word in argv):
        print(HELP)
        return
    if len(argv) != 1 or argv[0] not in SHELLS:
        way = "try `cutaway --print-completion bash`"
        raise ValueError(f"the shell must be one of {', '.join(SHELLS)}, got {' '.join(argv)!r}; {way}")
    script = io.StringIO()
    with contextlib.redirect_stdout(script), contextlib.suppress(SystemExit):
        tyro.extras.subcommand_cli_from_dict(
            verbs(),
            prog="cutaway",
            args=["--tyro-print-completion", argv[0]],
            config=(tyro.conf.OmitSubcommandPrefixes, *CONFIG),
        )
    # Where no flag fits, a file may: runs, texts, checkpoints.
    print(script.getvalue().replace("complete -F", "complete -o default -F"))


def verbs() -> dict[str, Any]:
    """Every verb with the flags that it takes, as a dataclass."""
    known = [*COMMANDS, *known_verbs()]
    return {verb: _train() if verb == "train" else _class_of(verb, flags_of_verb(verb)) for verb in known}


def flags_of_verb(verb: str) -> list[Flag]:
    """The flags of a verb; those of `train` differ by recipe."""
    from cutaway.commands.abilities import flags_of_ability
    from cutaway.commands.cluster import ClusterGraph
    from cutaway.commands.demo import Demo
    from cutaway.commands.import_export import Import
    from cutaway.commands.list import Listing
    from cutaway.commands.look import Look
    from cutaway.commands.tune import every_task, tune_flags

    kinds = {"demo": Demo, "list": Listing, "look": Look, "cluster": ClusterGraph, "import": Import}
    if verb in kinds:
        return flags_of(kinds[verb])
    if verb == "tune":
        return tune_flags(every_task())
    ability = find_ability(verb)
    assert ability is not None, verb
    return flags_of_ability(ability)


def _class_of(name: str, flags: Sequence[Flag]) -> type:
    """Flags as a dataclass, which tyro makes a completion of."""
    fields: list[Any] = []
    for flag in sorted(flags, key=lambda flag: not flag.required):
        kind: Any = Literal[flag.choices] if flag.choices else flag.kind
        kind = tuple[kind, ...] if flag.several else kind
        kind = kind | None if flag.optional or flag.default is None else kind
        kind = Annotated[kind, tyro.conf.Positional] if flag.positional else kind
        fields.append((flag.word, kind) if flag.required else (flag.word, kind, flag.default))
    return dataclasses.make_dataclass(name, fields, frozen=True)


def _train() -> Any:
    from cutaway.commands.train import Options
    from cutaway.recipes.index import RECIPES, find_recipe

    kinds = [Annotated[_both(Options, find_recipe(name)), tyro.conf.subcommand(name)] for name in RECIPES]
    return Union[tuple(kinds)]  # noqa: UP007 -- made at run time


def _both(options: type, settings: type) -> type:
    """One dataclass with the flags of two."""
    parts = [("options", options), ("settings", settings)]
    fields = [(name, Annotated[kind, tyro.conf.arg(name="")], kind()) for name, kind in parts]
    return dataclasses.make_dataclass(settings.__name__, fields, frozen=True)
