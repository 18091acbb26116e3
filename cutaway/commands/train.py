"""`cutaway train RECIPE`: trains by a recipe, into a run folder."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from cutaway.commands.flags import parse_flags
from cutaway.recipes.base import Recipe
from cutaway.recipes.index import RECIPES, find_recipe

if TYPE_CHECKING:
    from cutaway.runs.run import Run

VERBS = {"generate": " --prompt ...", "predict": " {input}", "test": ""}  # what a run may be used for


@dataclass(frozen=True)
class Options:
    """Where and how to run; what is learned does not depend on these."""

    out: str = ""
    """the run folder (default: the next free one in runs/)"""
    resume: bool = False
    """go on with the run in --out from its newest checkpoint"""
    preset: str = ""
    """a named set of settings, which other flags then change"""
    device: str = "auto"
    """auto, cpu, cuda, cuda:N or mps"""
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"
    """of several processes (torchrun): ddp, each has the whole model; fsdp, each has a share of it; auto is ddp"""
    compile: bool = False
    """compile the model first: slower to start, faster after"""
    quiet: bool = False
    """print nothing"""
    json: bool = False
    """print a JSON object a line: start, train, validation, checkpoint, end"""
    tensorboard: bool = False
    """keep a TensorBoard log in the run folder, too"""


def main(argv: Sequence[str]) -> None:
    if not argv or argv[0].startswith("-"):
        print_recipes(argv)
        return
    kind = find_recipe(argv[0])
    if kind.name not in RECIPES:
        raise ValueError(f"a recipe to train by must be one of {', '.join(RECIPES)}, got {argv[0]!r}")
    options, recipe, given = parse(kind, argv)
    from cutaway.runs.execution import is_first, load, train

    told = is_first() and not (options.json or options.quiet)
    if options.resume and options.out and told and load(options.out).finished:
        print("this run was finished before: nothing is left to train")
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
    if told:
        print_end(run)


def print_recipes(argv: Sequence[str]) -> None:
    if argv and argv[0] not in ("-h", "--help"):
        raise ValueError(f"the recipe comes first, got {argv[0]!r}; try `cutaway train gpt {' '.join(argv)}`")
    print("usage: cutaway train RECIPE [flags]        (cutaway train RECIPE --help shows its flags)\n")
    for name in RECIPES:
        print(f"  {name:<11}  {summary(find_recipe(name))}")
    print("\nexamples:\n  cutaway train gpt\n  cutaway train gpt --data my.txt --steps 2000 --tokenizer bpe")
    print("  cutaway train gpt --resume --out runs/gpt-1")


def print_end(run: "Run") -> None:
    """A sample, the figures, and what to do next."""
    for text in run.samples.values():
        print(f"\n{text.strip()}\n")
    last = {row["split"]: row for row in run.metrics}
    whole = last.get("validation-whole", {})
    figures = [f"validation {k} {v:.4f}" for k, v in whole.items() if isinstance(v, float)]
    if figures:
        print(f"{', '.join(figures)} ({run.recipe.final} weights, on the whole validation split)")
    print(f"run: {run.path}   report: {run.path / 'report.html'}")
    told = {verb: more.format(input=run.recipe.input) for verb, more in VERBS.items() if can(run.recipe, verb)}
    ways = [f"cutaway {verb} {run.path}{more}" for verb, more in told.items()]
    print(f"next: {'   '.join(ways)}")


def can(recipe: Recipe, verb: str) -> bool:
    """Whether a recipe does what a verb asks of it."""
    method = "test_metrics" if verb == "test" else verb
    return getattr(type(recipe), method) is not getattr(Recipe, method)


def summary(kind: type[Recipe]) -> str:
    """What a recipe does, in a line."""
    return next(iter((kind.__doc__ or "").splitlines()), "")  # one of your own may have none


def flags_of(kind: type[Recipe], preset: str = "") -> Any:
    """A dataclass of all flags of `cutaway train RECIPE`: options and settings."""
    base = kind.make(preset or None)
    both = dataclasses.make_dataclass(
        kind.__name__,
        [
            ("options", Annotated[Options, tyro.conf.arg(name="")], Options()),
            ("settings", Annotated[kind, tyro.conf.arg(name="")], base),
        ],
        frozen=True,
    )
    presets = [f"preset {name}: {_said(settings)}" for name, settings in kind.presets.items()]
    both.__doc__ = "\n\n".join(text for text in (kind.__doc__, kind.quality, *presets) if text)
    return both


def _said(settings: dict[str, Any]) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in settings.items())


def parse(kind: type[Recipe], argv: Sequence[str]) -> tuple[Options, Recipe, set[str]]:
    """Options, settings, and the names of the settings that were given on the command line."""
    words = [word.split("=")[0] for word in argv[1:]]
    preset = ""
    if "--preset" in words:
        i = words.index("--preset") + 1
        preset = argv[i].split("=", 1)[1] if "=" in argv[i] else argv[i + 1] if i + 1 < len(argv) else ""
    parsed = parse_flags(flags_of(kind, preset), f"cutaway train {kind.name}", argv[1:])
    fields = {f.name for f in dataclasses.fields(kind)}
    flags = {word.lstrip("-").replace("-", "_") for word in words if word.startswith("--")}
    return parsed.options, parsed.settings, flags & fields
