r"""An ability is a verb that a trained run may answer (generate, predict, embed …), described as data.

The command line, ``run.VERB(…)``, HTTP and forms are made of one description: what goes in, what comes out, and the
function that is called. A recipe says by an `Offer` that its runs have an ability, and what is special about it there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.flag import Flag

if TYPE_CHECKING:
    from cutaway.recipes.base import Recipe

Check = Callable[[Any], str]  # a function of a run: "" if it can, else why not, in words that follow "cannot …: "


@dataclass(frozen=True)
class Offer:
    """An ability that the runs of a recipe have, as the recipe declares it."""

    verb: str
    takes: str = ""  # what goes in, as an example of the command line: rows.csv
    gives: str = ""  # what goes in and what comes out, in a line
    everything: str = ""  # the input that stands for all that there is; "": an input must be given
    noun: str = ""  # what comes out, where it is not the usual: "vertices" of nearest, "answer" of generate
    formats: tuple[str, ...] = ()  # endings of files that the answer can be written to, besides the usual
    writer: str = ""  # the module that writes the answer to files, as runs/sampled_images.py does
    refuses: str | Check = ""  # why these runs cannot, though they inherit the offer; or a function of a run that tells

    def refusal(self, run: Any) -> str:
        return self.refuses(run) if callable(self.refuses) else self.refuses


@dataclass(frozen=True)
class Ability:
    """A verb: what goes in and comes out, and what is called."""

    verb: str
    help: str  # in a line
    call: str | Callable[..., Any]  # function(run, **inputs), or its place: "module:function"
    inputs: tuple[Flag, ...] = ()
    outputs: tuple[Flag, ...] = ()
    streams: bool = False  # whether the answer comes piece by piece
    needs: str = ""  # the method of a learner or a recipe that answers; "": every run may be asked
    check: str | Check = ""  # for runs that offer nothing: a function of a run, "" or why it cannot; or its place
    cannot: str = ""  # what a refusal says: "cannot {cannot}" (default: the verb)
    about: str = ""  # what `cutaway VERB --help` says
    examples: tuple[str, ...] = ()
    run: str = "the run folder"  # what RUN is, for `--help`
    terminal: tuple[Flag, ...] = ()  # flags of the command line alone: files to write, and the like
    command: str = ""  # "module:function" that prints or writes the answer, where plain printing does not do
    following: str | None = None  # what follows RUN in the line `next:` after training; None: it is not named there
    differs: bool = False  # whether `--help` tells, recipe by recipe, what goes in and out
    offer: Offer | None = None  # that of the recipe that was asked about

    def __post_init__(self) -> None:
        if not self.verb.isidentifier():
            raise ValueError(
                f"the verb of an ability must be a word that Python can call, got {self.verb!r}; use letters and _"
            )

    @property
    def flags(self) -> tuple[Flag, ...]:
        """All flags of the command line: the run, what goes in, and where the answer goes."""
        run = Flag("run", positional=True, required=True, help=self.run)
        return (run, *(flag for flag in self.inputs if flag.on_terminal), *self.terminal)

    def function(self) -> Callable[..., Any]:
        """What is called: function(run, **inputs)."""
        return at_place(self.call)

    def refuses(self, run: Any) -> str:
        """Why a run cannot do this, in one sentence; "" if it can."""
        offer = offers_of(type(run.recipe)).get(self.verb)
        why = ""
        if offer is not None:
            why = offer.refusal(run)
        elif self.needs and undeclared(run, self.needs) and find_method(run, self.needs) is not None:
            return ""
        elif self.check:
            why = at_place(self.check)(run)
        elif self.needs:
            why = "-"
        return self.refusal(run, "" if why == "-" else why) if why else ""

    def refusal(self, run: Any, why: str = "") -> str:
        """The sentence that a run which cannot do this is refused with."""
        what = self.cannot or self.verb
        what = f"{what}: {why}" if why else what
        return f"a run of {run.recipe.name!r} cannot {what}; `cutaway list abilities {run.path}` tells what it can do"

    def of(self, recipe: "type[Recipe]") -> "Ability":
        """The ability with what a recipe says of it."""
        return replace(self, offer=offers_of(recipe).get(self.verb))

    def to_dict(self) -> dict[str, Any]:
        """The description as plain data, for JSON."""
        told: dict[str, Any] = {"verb": self.verb, "help": self.help, "about": self.about, "streams": self.streams}
        told |= {"inputs": [flag.to_dict() for flag in self.inputs]}
        told |= {"outputs": [flag.to_dict() for flag in self.outputs], "examples": list(self.examples)}
        if self.offer is not None:
            told |= {"takes": self.offer.takes, "gives": self.offer.gives}
        return told


def at_place(place: Any) -> Callable[..., Any]:
    """The function at a place, "module:function"; a function is itself."""
    if callable(place):
        return place
    module, name = place.split(":")
    return getattr(import_module(module), name)


def offers_of(recipe: type) -> dict[str, Offer]:
    """What the runs of a recipe can do, by verb: its own offers, and those of its bases that it does not replace."""
    offers: dict[str, Offer] = {}
    for base in reversed(recipe.__mro__):
        offers |= {offer.verb: offer for offer in vars(base).get("abilities", ())}
    return offers


def undeclared(run: Any, name: str) -> bool:
    """Whether a run may answer though its recipe offers nothing: one of yours has the method, or declares nothing.

    Recipes of ours declare, so that a run that cannot is refused without a look at its weights.
    """
    return hasattr(type(run.recipe), name) or not offers_of(type(run.recipe))


def expect_method(run: Any, ability: Ability) -> Callable[..., Any]:
    """The method that an ability needs; a run that has none is refused."""
    offered = ability.verb in offers_of(type(run.recipe)) or undeclared(run, ability.needs)
    if not offered or (found := find_method(run, ability.needs)) is None:
        raise ValueError(ability.refusal(run))
    return found


def columns(rows: Sequence[tuple[str, ...]], gap: str = "  ") -> str:
    """Rows as lines, each column as wide as its widest cell."""
    wide = [max(map(len, cells)) for cells in zip(*rows)]
    return "\n".join(gap.join(cell.ljust(w) for cell, w in zip(row, wide)).rstrip() for row in rows)
