"""`cutaway tune BASE --data PATH`: tunes a trained model to a task, into a run folder."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cutaway.commands.flag_types import flags_of
from cutaway.commands.flags import asks_for_help, exit_with_help, read_flags
from cutaway.commands.help_pages import help_page, page_width, paragraphs
from cutaway.commands.train import Options, print_end
from cutaway.recipes.index import known_tasks
from cutaway.recipes.settings import FIRST, HEADINGS
from cutaway.tasks.abilities.flag import Flag
from cutaway.tuning.settings import TunedRecipe

PROG = "cutaway tune"
_LEFT_OUT = ("preset",)  # options of training that tuning has not


@dataclass(frozen=True)
class _EveryTask(TunedRecipe):
    """Tunes a trained model, a run of yours or a checkpoint, to a task; the way is one of the first flags.

    Without a way, transformers are tuned by LoRA of rank 8, and other models in all their weights.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway tune my-checkpoint --data labels.csv --lora 8",
        "cutaway tune runs/imported-1 --data labels.csv --head-only --pooling layers",
        "cutaway tune runs/cnn-1 --data photos --task images --full",
        "cutaway tune --resume --out runs/tuned-classify-1",
    )


def main(argv: Sequence[str]) -> None:
    kind = named_task(argv)
    if asks_for_help(argv):
        exit_with_help(tune_page(kind))
    found = read_flags(tune_flags(kind or every_task()), PROG, argv)
    options, settings = split(found)
    base, task, data = (settings.pop(name, "") for name in ("base", "task", "data"))
    if options.resume:
        run_on(options, base, data, settings)
        return
    if not base:
        raise ValueError(
            f"BASE, the run or checkpoint to tune, must be given, got none; write `{PROG} BASE --data PATH`"
        )
    if not data:
        raise ValueError(f"--data, what to learn from, must be given, got none; write `{PROG} {base} --data PATH`")
    from cutaway.runs.execution import is_first, train
    from cutaway.tuning.task_choice import find_task

    chosen = find_task(base, data, task)
    told = is_first() and not (options.json or options.quiet)
    read_flags(tune_flags(chosen.kind), f"{PROG} --task {chosen.kind.task}", argv)  # flags of other tasks are mistakes
    recipe = chosen.kind.make(base=base, data=data, **settings)
    if told and chosen.why:
        print(f"task: {chosen.kind.task}, as {chosen.why}")
    run = train(recipe, **execution(options))
    if told:
        print_end(run)


def run_on(options: Options, base: str, data: str, settings: dict[str, Any]) -> None:
    """Goes on with the run in --out."""
    from cutaway.runs.execution import Run, is_first
    from cutaway.runs.tuning import tune

    told = is_first() and not (options.json or options.quiet)
    done = bool(options.out) and told and Run(options.out).finished
    run = tune(base or None, data=data or None, resume=True, **execution(options), **settings)
    if done:
        print("this run was finished before: nothing is left to train")
    if told:
        print_end(run)


def execution(options: Options) -> dict[str, Any]:
    return {
        "out": options.out or None,
        "device": options.device,
        "strategy": options.strategy,
        "compile": options.compile,
        "tensorboard": options.tensorboard,
        "show": "json" if options.json else "quiet" if options.quiet else "auto",
    }


def split(found: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Options and settings of what was given."""
    names = {field.name for field in dataclasses.fields(Options)}
    options = Options(**{name: value for name, value in found.items() if name in names})
    return options, {name: value for name, value in found.items() if name not in names}


def named_task(argv: Sequence[str]) -> type[TunedRecipe] | None:
    """The recipe of the task that the words name, if they do."""
    words = [part for word in argv for part in word.split("=", 1)]
    asked = words[words.index("--task") + 1 :][:1] if "--task" in words else []
    known: dict[str, Any] = known_tasks()
    return known.get(asked[0]) if asked else None


def every_task() -> list[type[TunedRecipe]]:
    found: list[Any] = list(known_tasks().values())
    return found


def tune_flags(kinds: type[TunedRecipe] | list[type[TunedRecipe]]) -> list[Flag]:
    """The flags of a task, or of all together, with those that say where and how to run."""
    together: list[type[TunedRecipe]] = [*kinds, TunedRecipe] if isinstance(kinds, list) else [kinds]  # its defaults
    flags = {flag.name: flag for kind in together for flag in flags_of(kind)}
    base = dataclasses.replace(flags.pop("base"), positional=True)
    task = Flag("task", help=f"what to learn: {', '.join(known_tasks())} (default: found and told)", heading=FIRST)
    options = [flag for flag in flags_of(Options) if flag.name not in _LEFT_OUT]
    return [base, flags.pop("data"), task, *flags.values(), *options]


def tune_page(kind: type[TunedRecipe] | None) -> str:
    """What `cutaway tune --help` shows: the flags that all tasks have, or those of the task that was named."""
    shown: Any = kind or _EveryTask
    tasks = "\n\n".join(f"--task {name}: {_summary(one)}" for name, one in known_tasks().items())
    more = "" if kind else f"{tasks}\n\n`cutaway tune --task NAME --help` shows all flags of a task."
    return help_page(PROG, shown, tune_flags(shown), HEADINGS, paragraphs(more or shown.quality, page_width()))


def _summary(kind: type) -> str:
    return next(iter((kind.__doc__ or "").splitlines()), "")
