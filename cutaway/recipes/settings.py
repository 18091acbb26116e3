r"""The settings of a recipe as a person meets them: what each is for, and the heading that it stands under.

A recipe is a flat dataclass. The string below a field explains it, and its metadata names a heading, so that
`cutaway train gpt --help` (and a form in a browser) can show first what people change first:

    width: int = setting(128, FIRST)
    "of the residual stream"

A subclass that gives a field another default keeps its heading, and its explanation unless it has one of its own.
"""

import ast
import dataclasses
import inspect
import textwrap
from itertools import pairwise
from typing import Any

FIRST = "change these first"
DATA = "data"
MODEL = "model"  # also of settings that name no heading
OPTIMIZER = "optimizer"
SCHEDULE = "learning rate and batch over time"
RESULTS = "evaluations, checkpoints and logs"
MACHINE = "where and how it runs"
HEADINGS = (FIRST, DATA, MODEL, OPTIMIZER, SCHEDULE, RESULTS, MACHINE)


def setting(default: Any, heading: str, metavar: str = "") -> Any:
    """A field of a recipe with its default, under a heading; ``metavar`` stands for its value: `--data PATH`."""
    named = {"metavar": metavar} if metavar else {}
    return dataclasses.field(default=default, metadata={"heading": heading} | named)


def metadata(kind: type) -> dict[str, dict[str, Any]]:
    """The heading and metavar of every setting: its own, else those of the nearest base that names them."""
    found: dict[str, dict[str, Any]] = {}
    for base in reversed(kind.__mro__):
        for field in vars(base).get("__dataclass_fields__", {}).values():
            found[field.name] = found.get(field.name, {"heading": MODEL}) | field.metadata
    return found


def paths(kind: type) -> list[str]:
    """The settings, besides the data, that may be the path of a file: those whose metavar says so."""
    return [name for name, more in metadata(kind).items() if "PATH" in more.get("metavar", "") and name != "data"]


def headings(kind: type) -> dict[str, str]:
    """The heading of every setting."""
    return {name: more["heading"] for name, more in metadata(kind).items()}


def explanations(kind: type) -> dict[str, str]:
    """The string below every field of a dataclass; that of the class nearest to ``kind`` counts."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if "__dataclass_fields__" in vars(base):
            found |= _strings_below_fields(base)
    return {field.name: found.get(field.name, "") for field in dataclasses.fields(kind)}


def _strings_below_fields(kind: type) -> dict[str, str]:
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # a class that was typed in at a prompt has no file
        return {}
    body = ast.parse(textwrap.dedent(source)).body[0].body  # type: ignore[attr-defined]
    found = {}
    for above, below in pairwise(body):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                found[above.target.id] = " ".join(text.split())
    return found
