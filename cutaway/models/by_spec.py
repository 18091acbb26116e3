r"""Models by their specs: whichever kind a spec or its dict describes.

from_spec(spec_from_dict(model.spec.to_dict()))         the same design, new weights
"""

from typing import Any

from cutaway.models.base import Model
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.bert import BERT
from cutaway.models.transformers.gpt import GPT
from cutaway.models.transformers.seq2seq import T5, Transformer
from cutaway.models.transformers.vit import ViT

MODELS: dict[str, type[Model]] = {kind.kind.model: kind for kind in (GPT, BERT, T5, Transformer, ViT)}


def spec_from_dict(values: dict[str, Any]) -> Any:
    """The spec of any model, by the name that its dict holds."""
    name = values.get("model")
    if name not in MODELS:
        raise ValueError(f"a spec must name its model, one of {', '.join(MODELS)}, got {name!r}; to_dict() writes it")
    return MODELS[name].kind.from_dict(values)


def from_spec(spec: NamedSpec) -> Model:
    """A model of any kind, with new weights, from its spec."""
    kind = MODELS.get(getattr(spec, "model", ""))
    if kind is None:
        raise ValueError(f"a model is built from a spec, got {type(spec).__name__}; spec_from_dict reads one")
    return kind.from_spec(spec)
