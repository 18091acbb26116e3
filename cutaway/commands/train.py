"""`cutaway train RECIPE`: trains by a recipe, into a run folder."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cutaway.atomic_files import read_json
from cutaway.commands.flag_types import flags_of
from cutaway.commands.flags import asks_for_help, exit_with_help, read_flags
from cutaway.commands.help_pages import help_page, page_width, paragraphs, row
from cutaway.recipes.base import Recipe
from cutaway.recipes.index import RECIPES, TUNED, find_recipe, is_ours
from cutaway.recipes.settings import FIRST, HEADINGS, MACHINE, RESULTS, setting
from cutaway.runs.abilities import abilities
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.verbs.predict import EXAMPLE

if TYPE_CHECKING:
    from cutaway.runs.run import Run


@dataclass(frozen=True)
class Options:
    """Where and how to run; what is learned does not depend on these."""

    out: str = setting("", FIRST, "FOLDER")
    """the run folder (default: the next free one in runs/)"""
    resume: bool = setting(False, MACHINE)
    """go on with the run in --out from its newest checkpoint"""
    preset: str = setting("", MACHINE, "NAME")
    """a named set of settings, which other flags then change; those that there are stand below"""
    device: str = setting("auto", MACHINE, "NAME")
    """auto, cpu, cuda, cuda:N or mps"""
    strategy: Literal["auto", "ddp", "fsdp"] = setting("auto", MACHINE)
    """how several processes (torchrun) share the work: ddp, each has the whole model; fsdp, each has a share of it;
    auto is ddp"""
    compile: bool = setting(False, MACHINE)
    """compile the model first: slower to start, faster after"""
    quiet: bool = setting(False, RESULTS)
    """print nothing"""
    json: bool = setting(False, RESULTS)
    """print a JSON object a line: start, train, validation, checkpoint, end"""
    tensorboard: bool = setting(False, RESULTS)
    """keep a TensorBoard log in the run folder, too"""


def main(argv: Sequence[str]) -> None:
    if not argv or argv[0].startswith("-"):
        print_recipes(argv)
        return
    kind = find_recipe(argv[0])
    if is_ours(kind.name) and kind.name not in RECIPES:
        raise ValueError(
            f"a recipe to train by must be one of {', '.join(RECIPES)}, got {argv[0]!r}; "
            f"`cutaway {'tune' if argv[0] in TUNED else 'import'}` makes such runs"
        )
    if asks_for_help(argv):
        exit_with_help(train_page(kind, _preset(kind, argv)))
    options, recipe, given = parse(kind, argv)
    from cutaway.runs.execution import Run, is_first, train

    told = is_first() and not (options.json or options.quiet)
    done = options.resume and bool(options.out) and told and Run(options.out).finished
    run = train(
        kind.name if options.resume else recipe,
        out=options.out or None,
        resume=options.resume,
        device=options.device,
        strategy=options.strategy,
        compile=options.compile,
        tensorboard=options.tensorboard,
        show="json" if options.json else "quiet" if options.quiet else "auto",
        preset=options.preset or None if options.resume else None,
        **({name: getattr(recipe, name) for name in given} if options.resume else {}),
    )
    if done:
        print("this run was finished before: nothing is left to train")
    if told:
        print_end(run)


def print_recipes(argv: Sequence[str]) -> None:
    if argv and argv[0] not in ("-h", "--help"):
        raise ValueError(f"the recipe comes first, got {argv[0]!r}; try `cutaway {_verb_of(argv)} {' '.join(argv)}`")
    wide = page_width()
    print("usage: cutaway train RECIPE [flags]\n\nTrains by a recipe, into a new folder in runs/.\n\nrecipes:")
    for name in RECIPES:
        print(row(name, summary(find_recipe(name)), wide, 15))
    print(
        "\n`cutaway train RECIPE --help` shows the flags of a recipe.\n\nexamples:\n  cutaway train gpt\n"
        "  cutaway train gpt --data my.txt --steps 2000 --tokenizer bpe\n"
        "  cutaway train mlp --data table.csv --target price\n"
        "  cutaway train gpt --resume --out runs/gpt-1"
    )


def _verb_of(argv: Sequence[str]) -> str:
    """The verb and the recipe of the run in --out, if there is one; else those that most people begin with."""
    words = [part for word in argv for part in word.split("=", 1)]
    out = words[words.index("--out") + 1 :][:1] if "--out" in words else []
    config = Path(*out, "config.json")
    found = str(read_json(config, "recipe")["recipe"]) if out and config.is_file() else "gpt"
    return "tune" if found in TUNED else f"train {found if found in RECIPES else 'gpt'}"


def print_end(run: "Run") -> None:
    """A sample, the figures, and what to do next."""
    for text in run.samples.values():
        print(f"\n{text.strip()}\n")
    from cutaway.training.late_baselines import shown_baseline

    last = {row.get("split"): row for row in run.metrics}
    whole = last.get("validation-whole", {})
    notes = ("start_was", "temperature")
    figures = [f"validation {k} {v:.4f}" for k, v in whole.items() if isinstance(v, float) and k not in notes]
    baseline = run.about["data"].get("baseline")
    if figures and baseline and baseline.get("metrics"):
        print(f"baseline {shown_baseline(baseline)}")
    if figures:
        kept = f"of step {whole['weights_of']:,}, the best" if "weights_of" in whole else "of the last step"
        kept += f"; temperature {whole['temperature']:.3g}, fitted to it" if "temperature" in whole else ""
        print(f"{', '.join(figures)} (whole validation split, weights {kept})")
    print(f"run: {run.path}   report: {run.path / 'report.html'}")
    print(f"next: {'   '.join(next_commands(run))}")


def next_commands(run: "Run") -> list[str]:
    """The commands that ask a run what its recipe offers."""
    commands = []
    for ability in abilities(run):
        if ability.offer is not None and ability.following is not None:
            word = "NAME" if ability.offer.noun else "WORD"
            takes = {"takes": ability.offer.takes, "word": word}
            commands.append(f"cutaway {ability.verb} {run.path}{ability.following.format(**takes)}")
        elif (
            ability.following is not None and find_method(run, ability.needs) is not None
        ):  # a recipe that declares nothing
            takes = {"takes": EXAMPLE, "word": "WORD"}
            commands.append(f"cutaway {ability.verb} {run.path}{ability.following.format(**takes)}")
    return commands


def summary(kind: type[Recipe]) -> str:
    """What a recipe does, in a line."""
    return next(iter((kind.__doc__ or "").splitlines()), "")  # one of your own may have none


def train_flags(kind: type[Recipe], preset: str = "") -> list[Flag]:
    """All flags of `cutaway train RECIPE`: options and settings, with the defaults of the preset."""
    return [*flags_of(kind, kind.make(preset or None)), *flags_of(Options)]


def train_page(kind: type[Recipe], preset: str = "") -> str:
    """What `cutaway train RECIPE --help` shows."""
    presets = [f"--preset {name} stands for {_as_flags(kind, settings)}" for name, settings in kind.presets.items()]
    more = paragraphs("\n\n".join(text for text in (kind.quality, *presets) if text), page_width())
    return help_page(f"cutaway train {kind.name}", kind, train_flags(kind, preset), HEADINGS, more)


def _as_flags(kind: type[Recipe], settings: dict[str, Any]) -> str:
    known = {flag.name: flag for flag in flags_of(kind)}
    return " ".join(known[name].given(value) for name, value in settings.items())


def _preset(kind: type[Recipe], argv: Sequence[str]) -> str:
    """The preset whose defaults a help page shows, if the words name one that there is."""
    words = [part for word in argv for part in word.split("=", 1)]
    asked = words[words.index("--preset") + 1 :][:1] if "--preset" in words else []
    return asked[0] if asked and asked[0] in kind.presets else ""


def parse(kind: type[Recipe], argv: Sequence[str]) -> tuple[Options, Recipe, set[str]]:
    """Options, settings, and the names of the settings that were given on the command line."""
    prog = f"cutaway train {kind.name}"
    found = read_flags(train_flags(kind), prog, argv[1:])
    names = {field.name for field in dataclasses.fields(Options)}
    options = Options(**{name: value for name, value in found.items() if name in names})
    settings = {name: value for name, value in found.items() if name not in names}
    return options, kind.make(options.preset or None, **settings), set(settings)
