r"""`Model` is the base class of all models: it has a spec, from which it can be built again, and a tokenizer.

Model.from_spec(model.spec)         the same design, new weights; also on the meta device
"""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import torch
from torch import nn

from cutaway.models.specs.parts import HeadSpec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override

M = TypeVar("M", bound="Model")


class Model(nn.Module):
    """A model of the kind that its ``spec`` describes. ``tokenizer`` is its vocabulary, where it came with one.

    A subclass declares the class of its spec, ``kind``; `from_spec` then builds that subclass from such a spec. It may
    also declare its ``input_kind``: "text" (tokens), "masked text" (tokens between special ones), "text pair" (those
    of a source, and those that a decoder is given), or "images". `cutaway look` then knows how to give it a text.
    ``generation_config`` is what a checkpoint says about generating with it, and its special ids, kept for saving.

    A model that can be tuned declares its ``tasks`` (tuning/settings.py), the way that suits it, ``tuned_by``
    ("lora" or "full"), the layers between input and head, ``layer_order``, the head, ``head_parts``, and
    ``lora_targets``. If it can have a head for labels it has `with_labels`, and the two halves of its forward pass:
    `decide` of what `represent` gives.
    """

    kind: ClassVar[type[NamedSpec]] = NamedSpec
    input_kind: ClassVar[str] = ""
    tasks: ClassVar[tuple[str, ...]] = ()
    tuned_by: ClassVar[str] = "full"
    layer_order: ClassVar[tuple[str, ...]] = ("blocks.*",)  # addresses, from the input on
    head_parts: ClassVar[tuple[str, ...]] = ("head",)  # addresses of what makes the outputs of a task
    lora_targets: ClassVar[tuple[str, ...]] = ("all-linear",)  # what LoRA is put beside if nobody says
    hidden_before_classes: ClassVar[bool] = False  # whether heads that pool by the first token have a hidden layer
    bias_of_classes: ClassVar[bool] = True  # whether heads that pool as the family does have a bias
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

    @override
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

    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> "Model":
        """The same model under a fresh head for these labels, one for each "sequence" or "token"; see `with_head`.

        A model that was pretrained for its encoder alone gives that, under the head.
        """
        spec = self.spec
        if not hasattr(spec, "head"):
            raise ValueError(f"a {type(self).__name__} has no place for a head of labels; tune a model that has one")
        kind = "tags" if each == "token" else "classes"
        hidden = kind == "classes" and self.hidden_before_classes and pooling in (None, "cls")
        bias = kind == "tags" or self.bias_of_classes or pooling not in (None, "last")
        head = HeadSpec(kind, labels=tuple(labels), pooling=pooling, hidden=hidden, bias=bias)
        return with_head(self, head, keep_pooler=hidden)

    def represent(self, *inputs: Any, **options: Any) -> torch.Tensor:
        """What the learned part of the head reads: a vector a sequence, or one a token."""
        raise ValueError(f"a {type(self).__name__} has no head apart from its body; call the model itself")

    def decide(self, representation: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The logits of what `represent` gave."""
        return self.head.decide(representation, mask)  # type: ignore[union-attr, operator]


def choose_spec(spec: Any, sizes: dict[str, Any], preset: Any) -> Any:
    """The spec that a constructor was given, or the preset of the sizes that it was given instead."""
    if spec is None:
        return preset(**sizes)
    if sizes:
        raise ValueError(
            f"a model takes a spec or sizes, got both a spec and {', '.join(sizes)}; change the spec with spec.but(...)"
        )
    return spec


def with_head(model: M, head: HeadSpec | None, keep_pooler: bool = True) -> M:
    """The same model under another head, which starts fresh; all other tensors are shared, not copied.

    ``with_head(bert, HeadSpec("classes", classes=2))`` is how a pretrained model is made ready for a task. BERT's
    pooler, if it has one, becomes the hidden layer of a head for classes that pools by the first token, unless
    ``keep_pooler`` is False: then it is left out, as other heads do not read it.
    """
    changes: dict[str, Any] = {"head": head}
    trunk = {name: x for name, x in model.state_dict().items() if not name.startswith(("head.", "unembed."))}
    dense_tanh = getattr(model.spec, "pooler", False) and getattr(model.spec, "pooler_activation", "tanh") == "tanh"
    if dense_tanh and head is not None and (head.kind == "classes" or not keep_pooler):
        changes |= {"pooler": False}
        if keep_pooler and head.pooling in (None, "cls"):  # of a head for classes
            changes |= {"head": head.but(hidden=True)}
            trunk = {name.replace("pooler.", "head.hidden."): x for name, x in trunk.items()}
        trunk = {name: x for name, x in trunk.items() if not name.startswith("pooler.")}
    like = next(model.parameters())
    new = type(model).from_spec(model.spec.but(**changes)).to(like.device, like.dtype)
    _, surplus = new.load_state_dict(trunk, strict=False, assign=True)
    if surplus:
        raise ValueError(
            f"a head is put onto a model as its spec builds it, got one that also has {surplus[0]}; "
            "take adapters off, or merge them, first"
        )
    new.tokenizer, new.generation_config = model.tokenizer, model.generation_config
    return new.train(model.training)
