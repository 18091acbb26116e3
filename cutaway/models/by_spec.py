r"""Builds the model of any kind that a spec, or a spec's dict, describes.

from_spec(spec_from_dict(model.spec.to_dict()))         the same design, new weights

A spec's dict names its model, and the spec's class knows the model that is built from it (`Model.kind`). A model of
your own is known as soon as its class is defined.
"""

from typing import Any

from cutaway.models.base import Model
from cutaway.models.specs.plain_data import NamedSpec


def spec_from_dict(values: Any) -> Any:
    """The spec of any model, by the name that its dict holds. It may come from a damaged file, so all is checked."""
    name = values.get("model") if isinstance(values, dict) else values
    if not isinstance(name, str) or not isinstance(values, dict) or name not in NamedSpec.known:
        raise ValueError(
            f"a spec must name its model, one of {', '.join(sorted(NamedSpec.known))}, got {name!r}; to_dict() writes "
            "it, and the class of a model of your own must be imported first"
        )
    return NamedSpec.known[name].from_dict(values)


def from_spec(spec: NamedSpec) -> Model:
    """A model of any kind, with new weights, from its spec."""
    opener = getattr(spec, "opener", None)
    if opener is None:
        raise ValueError(f"a model is built from a spec, got {type(spec).__name__}; spec_from_dict reads one")
    return opener.from_spec(spec)


def model_class(values: Any) -> type | None:
    """The class of the models that a spec's dict describes; None if it describes none that is known."""
    name = values.get("model") if isinstance(values, dict) else None
    return getattr(NamedSpec.known.get(name), "opener", None) if isinstance(name, str) else None
