r"""What joins Cutaway by an explicit call: blocks, recipes and views, ours and yours.

    cut.register(Swish, example=lambda: (Swish(3), torch.randn(2, 5, 3)))          a block
    cut.register(MyRecipe)                                                         a recipe: a subclass of Recipe
    cut.register(Ability("reverse", "…", call=reverse))                            an ability: a verb of runs
    cut.register(my_view, suits="gpt")                                             a view: function of (run, subject)

A block is shown by `cutaway list blocks` and goes through the battery of tests/test_battery.py, a recipe is known to
`cut.train` and `cut.load` by its name, and a view is drawn by `cutaway look` for the runs that it suits. A view that
is registered with ``report=True`` is also drawn in the report.html of a run.
"""

import inspect
import re
import runpy
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from cutaway.look.pages.picture import Picture
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """A registered block: what it is, how to make one with inputs, and what the battery should know."""

    name: str
    target: Callable[..., Any]
    example: Callable[[], tuple[Any, ...]]
    extreme: Callable[[], tuple[Any, ...]] | None
    kinks: str

    @property
    def kind(self) -> str:
        """The kind of thing that it is: the folder of ours that it lives in; of yours, the module."""
        places = self.target.__module__.split(".")
        return places[2] if places[:2] == ["cutaway", "blocks"] else places[1] if places[0] == "cutaway" else places[0]

    @property
    def file(self) -> str:
        """The file that it lives in."""
        return self.target.__module__.rsplit(".", 1)[-1]

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return first_sentence(self.target)

    @property
    def equation(self) -> str:
        """The first line of its docstring, else of its file's, that states an equation."""
        for text in (inspect.getdoc(self.target), inspect.getdoc(inspect.getmodule(self.target))):
            for line in (text or "").splitlines():
                if re.search(r"[=∝↦←∈]", line) and not line.lstrip().startswith(">>>"):
                    return re.split(r"\s{3,}|\.\s|\.$", line.strip())[0].replace("``", "")
        return ""


@dataclass(frozen=True)
class View:
    """A registered view: what it draws of a run, for which runs, under which heading, and whether reports show it."""

    name: str
    draw: "Callable[..., Picture | Sequence[Picture]]"
    suits: "tuple[str, ...] | Callable[[Run], bool]"
    section: str
    report: bool = False
    at: bool = False  # draws the value at an address, for `cutaway look --at`

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return first_sentence(self.draw)

    @property
    def runs(self) -> str:
        """The runs that it suits, in words."""
        if callable(self.suits):
            return first_sentence(self.suits).rstrip(".") or "by the run"
        return ", ".join(self.suits)

    def fits(self, run: "Run") -> bool:
        """Whether there is something to draw of this run."""
        return self.suits(run) if callable(self.suits) else run.recipe.name in self.suits

    def pictures(self, run: "Run", subject: "Subject", *value: Any) -> "list[Picture]":
        """What it draws, as a list; ``value`` are an address and the value there, for views of these."""
        from cutaway.look.pages.picture import Picture

        found = self.draw(run, subject, *value)
        pictures = [found] if isinstance(found, Picture) else list(found)
        for picture in pictures:
            if not isinstance(picture, Picture):
                raise ValueError(
                    f"a view gives a Picture or a list of them, got {type(picture).__name__} from {self.name!r}; "
                    "wrap a chart as cut.look.Picture(chart, title, alt)"
                )
        return pictures


_entries: dict[str, Entry] = {}
_views: dict[str, View] = {}


def register(
    target: T,
    *,
    name: str | None = None,
    example: Callable[[], tuple[Any, ...]] | None = None,
    extreme: Callable[[], tuple[Any, ...]] | None = None,
    kinks: str = "",
    suits: "str | Sequence[str] | Callable[[Run], bool] | None" = None,
    section: str = "More views",
    report: bool = False,
    at: bool = False,
) -> T:
    """Adds a block, a recipe, an ability or a view of yours; returns it.

    A *block* (a module class or a function) comes with an ``example()``, which makes one and its inputs:
    ``(block, *inputs)``, with tensors in torch's default dtype. ``extreme()`` does the same with extreme but legal
    inputs (default: the example's floats times 1e4, and all zero). ``kinks`` says why finite differences cannot check
    the gradient, if so.

    A *recipe* is a subclass of `cut.recipes.Recipe` and comes with its own name.

    An *ability* is a `cut.recipes.Ability`: a verb, what goes in and comes out, and the function of a run that is
    called. It is then ``run.VERB(…)`` and `cutaway --with FILE VERB RUN`.

    A *view* is a function of a run and its subject (what goes into the model, `cut.recipes.Subject`) that gives a
    Picture or a list of them. ``suits`` are the names of the recipes that it is for, or a function of a run that tells;
    ``section`` is the heading that it stands under; with ``report`` the report of a run shows it too, for the subject
    that the recipe chooses. With ``at`` it is drawn by `cutaway look --at ADDRESS` alone, beside the value's own
    pictures, and is given the address and the value too: view(run, subject, address, value).
    """
    from cutaway.recipes.base import Recipe  # imports neither torch nor anything else that is heavy
    from cutaway.tasks.abilities.ability import Ability

    given: Any = target
    if isinstance(target, Ability):
        from cutaway.tasks.abilities.index import register_ability

        register_ability(target)
        return target
    if isinstance(target, type) and issubclass(target, Recipe):
        from cutaway.recipes.index import register_recipe

        if name is not None and name != target.name:
            raise ValueError(f"a recipe has its name inside, got name={name!r} for {target.name!r}; set `name` there")
        register_recipe(target)
    elif suits is not None and example is None:
        _add(_views, View(name or given.__name__, given, _as_suits(suits), section, report, at))
    elif example is not None and suits is None:
        _add(_entries, Entry(name or given.__name__, given, example, extreme, kinks))
    else:
        which = "both" if example is not None else "neither"
        raise ValueError(
            f"a block is registered with example=, a view with suits=, a recipe is a subclass of cut.recipes.Recipe; "
            f"got {which} for {getattr(target, '__qualname__', target)!r}; pass one of the two"
        )
    return target


def run_file(path: str) -> None:
    """Runs a Python file of yours, which registers blocks, recipes, abilities or views."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise ValueError(f"a file to run first must be there, got --with {path}; check its path")
    try:
        runpy.run_path(str(file), run_name=file.stem)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame for frame in reversed(frames) if Path(frame.filename) == file), frames[-1])
        raise ValueError(
            f"a file to run first must run, got --with {path}, which raises {type(error).__name__}: {error} (line "
            f"{line.lineno} of {Path(line.filename).name}); mend it"
        ) from error


def _as_suits(suits: Any) -> Any:
    return suits if callable(suits) else (suits,) if isinstance(suits, str) else tuple(suits)


def _add(known: dict[str, Any], new: Any) -> None:
    target = _target(new)
    if new.name in known and _target(known[new.name]) is not target:
        other = _target(known[new.name])
        raise ValueError(
            f"a name can be registered once, got {new.name!r} for {target.__module__}.{target.__qualname__} but it is "
            f"{other.__module__}.{other.__qualname__}; pass another name="
        )
    known[new.name] = new


def _target(entry: Any) -> Any:
    return entry.draw if isinstance(entry, View) else entry.target


def first_sentence(documented: Any) -> str:
    """The first sentence of a docstring."""
    words = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.:;])\s", words)[0]


def entries() -> list[Entry]:
    """Every registered block, ours first, in the order of the catalogue."""
    import_module("cutaway.catalogue")  # registers ours
    return list(_entries.values())


def views() -> list[View]:
    """Every registered view, ours first, in the order of a page."""
    import_module("cutaway.runs.views.index")  # registers ours
    return list(_views.values())
