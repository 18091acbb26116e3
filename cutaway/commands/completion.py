"""`cutaway --print-completion SHELL`: a script that completes verbs, recipes and flags."""

import contextlib
import dataclasses
import io
from collections.abc import Sequence
from typing import Annotated, Any, Union

import tyro

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
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
    """Every verb with the flags that it takes."""
    from cutaway.commands.attack import AttackImages
    from cutaway.commands.cluster import ClusterGraph
    from cutaway.commands.demo import Demo
    from cutaway.commands.embed import Embed
    from cutaway.commands.forecast import ForecastSeries
    from cutaway.commands.generate import Generate
    from cutaway.commands.import_export import Export, Import
    from cutaway.commands.list import Listing
    from cutaway.commands.look import Look
    from cutaway.commands.nearest import Nearest
    from cutaway.commands.predict import Predict
    from cutaway.commands.sample import SampleNew
    from cutaway.commands.test import Test
    from cutaway.commands.tune import tune_class

    return {
        "demo": Demo,
        "list": Listing,
        "train": _train(),
        "tune": tune_class(),
        "test": Test,
        "generate": Generate,
        "predict": Predict,
        "forecast": ForecastSeries,
        "sample": SampleNew,
        "embed": Embed,
        "nearest": Nearest,
        "attack": AttackImages,
        "cluster": ClusterGraph,
        "look": Look,
        "import": Import,
        "export": Export,
    }


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
