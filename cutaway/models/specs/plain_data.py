r"""`Spec` is the base class of specs: it checks its fields, turns into plain values and back, and copies with changes.

spec.but(attention__heads=4)                    a copy, changed inside a part
type(spec).from_dict(spec.to_dict()) == spec    through JSON too
"""

import dataclasses
import types
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from cutaway.overriding import override

VERSION = 1
S = TypeVar("S", bound="Spec")
N = TypeVar("N", bound="NamedSpec")


@dataclass(frozen=True)
class Spec:
    """What every spec can do: check the types of its fields, become a dict of plain values, and come back from one."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value, hint = _plain(getattr(self, field.name)), hints[field.name]
            if not _fits(value, hint):
                raise ValueError(
                    f"{type(self).__name__}.{field.name} must be {_spoken(hint)}, got {value!r}; "
                    "see what the spec says beside it"
                )
            object.__setattr__(self, field.name, value)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: ``from_dict`` takes them, JSON does too."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls: type[S], values: dict[str, Any]) -> S:
        """The spec of such values; fields that are left out keep their defaults."""
        if not isinstance(values, dict):
            raise ValueError(f"a {cls.__name__} must be a dict of its fields, got {values!r}; to_dict() makes one")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        surplus = sorted(set(values) - set(fields))
        if surplus:
            raise ValueError(f"{cls.__name__} has no {', '.join(surplus)}; it has {', '.join(sorted(fields))}")
        nothing = dataclasses.MISSING
        missing = [n for n, f in fields.items() if n not in values and f.default is nothing is f.default_factory]
        if missing:
            raise ValueError(f"{cls.__name__} needs {', '.join(missing)}, got only {', '.join(values) or 'nothing'}")
        hints = get_type_hints(cls)
        return cls(**{name: _parse(value, hints[name]) for name, value in values.items()})

    def but(self: S, **changes: Any) -> S:
        """A copy with some fields changed; ``attention__heads=4`` reaches into a part."""
        own: dict[str, Any] = {}
        for name, value in changes.items():
            part, _, rest = name.partition("__")
            before: Any = own.get(part, getattr(self, part, None))
            if part not in {field.name for field in dataclasses.fields(self)} or (
                rest and not isinstance(before, Spec)
            ):
                known = ", ".join(field.name for field in dataclasses.fields(self))
                raise ValueError(f"{type(self).__name__} has no {name}; it has {known}")
            own[part] = before.but(**{rest: value}) if rest else value
        return dataclasses.replace(self, **own)


@dataclass(frozen=True)
class NamedSpec(Spec):
    """The spec of a whole model: its dict also says which model, and by which version of Cutaway's specs.

    ``model`` is the model's name, which no other spec has. `Model.kind` says which class opens the spec.
    """

    model: ClassVar[str] = ""
    opener: ClassVar[Any] = None  # the class of models that are built from it
    known: ClassVar[dict[str, type["NamedSpec"]]] = {}  # by the model's name

    @classmethod
    def open_with(cls, opener: Any) -> None:
        """Declares the class of models that are built from this spec, and makes both known by the model's name."""
        other = cls.known.get(cls.model)
        # The same class may be defined again, as in a cell of a notebook that runs twice.
        if not cls.model or (other is not None and _place(other) != _place(cls)):
            taken = "no name" if not cls.model else f"{cls.model!r}, which {_place(other)} has"
            raise ValueError(f"the spec of a model needs a name of its own, got {taken}; set `model` in {_place(cls)}")
        own = vars(cls).get("opener")
        if own is not None and _place(own) != _place(opener):
            raise ValueError(
                f"a spec is opened by one model, got {_place(opener)} for {cls.__name__}, which {_place(own)} "
                "opens; give it a spec of its own, or leave `kind` out"
            )
        cls.opener, cls.known[cls.model] = opener, cls

    def layers_and_width(self) -> tuple[int, int]:
        """How many layers have tensors of their own, and a width that some tensor has; 0 where a spec does not say.

        A stored spec is held against its file by these, before the model is built.
        """
        return 0, 0

    @override
    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "version": VERSION} | super().to_dict()

    @override
    @classmethod
    def from_dict(cls: type[N], values: dict[str, Any]) -> N:
        values = dict(values)
        name, version = values.pop("model", cls.model), values.pop("version", VERSION)
        if name != cls.model:
            raise ValueError(
                f"a {cls.__name__} describes a {cls.model}, got {name!r}; use spec_from_dict for any model"
            )
        if not isinstance(version, int) or version > VERSION:
            raise ValueError(
                f"this Cutaway reads specs up to version {VERSION}, got version {version!r}; upgrade cutaway"
            )
        return super().from_dict(values)


def _place(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _plain(value: Any) -> Any:
    """Numbers of other libraries as Python's own, and JSON's lists as tuples, which do not change."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(value, kind) for kind in get_args(hint))
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        kinds = inner[:1] * len(value) if inner[-1:] == (...,) and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _spoken(hint: Any) -> str:
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    names = {int: "a whole number", float: "a number", str: "a name", bool: "True or False", type(None): "None"}
    return " or ".join(names.get(kind, kind.__name__ if isinstance(kind, type) else str(kind)) for kind in parts)


def _parse(value: Any, hint: Any) -> Any:
    """A dict where a part is wanted becomes that part, a list a tuple."""
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and issubclass(kind, Spec)]
    return kinds[0].from_dict(value) if kinds and isinstance(value, dict) else _plain(value)
