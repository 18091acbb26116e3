r"""`Model` is the base class of all models: it has a spec, from which it can be built again, and a tokenizer.

Model.from_spec(model.spec)         the same design, new weights; also on the meta device
"""

from typing import Any, ClassVar, TypeVar

import torch
from torch import nn

from cutaway.models.specs.parts import HeadSpec
from cutaway.models.specs.plain_data import NamedSpec

M = TypeVar("M", bound="Model")


class Model(nn.Module):
    """A model of the kind that its ``spec`` describes. ``tokenizer`` is its vocabulary, where it came with one.

    A subclass declares the class of its spec, ``kind``; `from_spec` then builds that subclass from such a spec. It may
    also declare its ``input_kind``: "text" (tokens), "masked text" (tokens between special ones), "text pair" (those
    of a source, and those that a decoder is given), or "images". `cutaway look` then knows how to give it a text.
    ``generation_config`` is what a checkpoint says about generating with it, and its special ids, kept for saving.
    """

    kind: ClassVar[type[NamedSpec]] = NamedSpec
    input_kind: ClassVar[str] = ""
    spec: Any
    tokenizer: Any = None
    generation_config: dict[str, Any] | None = None

    @property
    def writes(self) -> str:
        """What it writes token by token: "continuations" of a prompt, "answers" to one, or "" if it writes no text.

        A model that writes has a method ``begin(prompt, tokens)`` (see generation/next_token.py). Continuations are
        made by ``model(tokens, mask)``, answers by ``model(source, decoder_tokens, mask)`` from ``spec.start`` on: the
        logits of the next token at every position, from which `log_probabilities` reads the density of a text.
        """
        return ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            cls.kind.open_with(cls)

    def __init__(self, spec: NamedSpec) -> None:
        super().__init__()
        if not isinstance(spec, self.kind):
            raise ValueError(
                f"a {type(self).__name__} is built from a {self.kind.__name__}, got {type(spec).__name__}; "
                f"pass the spec first, or sizes by name"
            )
        self.spec = spec

    @classmethod
    def from_spec(cls: type[M], spec: NamedSpec) -> M:
        """A model of this design, with new weights."""
        return cls(spec)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def choose_spec(spec: Any, sizes: dict[str, Any], preset: Any) -> Any:
    """The spec that a constructor was given, or the preset of the sizes that it was given instead."""
    if spec is None:
        return preset(**sizes)
    if sizes:
        raise ValueError(
            f"a model takes a spec or sizes, got both a spec and {', '.join(sizes)}; change the spec with spec.but(...)"
        )
    return spec


def with_head(model: M, head: HeadSpec | None) -> M:
    """The same model under another head, which starts fresh; all other tensors are shared, not copied.

    ``with_head(bert, HeadSpec("classes", classes=2))`` is how a pretrained model is made ready for a task. BERT's
    pooler, if it has one, becomes the hidden layer of a head for classes.
    """
    changes: dict[str, Any] = {"head": head}
    trunk = {name: x for name, x in model.state_dict().items() if not name.startswith(("head.", "unembed."))}
    dense_tanh = getattr(model.spec, "pooler", False) and getattr(model.spec, "pooler_activation", "tanh") == "tanh"
    if dense_tanh and head is not None and head.kind == "classes":
        changes |= {"head": head.but(hidden=True), "pooler": False}
        trunk = {name.replace("pooler.", "head.hidden."): x for name, x in trunk.items()}
    like = next(model.parameters())
    new = type(model).from_spec(model.spec.but(**changes)).to(like.device, like.dtype)
    new.load_state_dict(trunk, strict=False, assign=True)
    new.tokenizer, new.generation_config = model.tokenizer, model.generation_config
    return new.train(model.training)
