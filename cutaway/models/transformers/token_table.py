r"""The table of token vectors that a text model begins with; asked for texts, it gives their sentence vectors.

    model.embed(tokens) = E[tokens]                 (…, width): integers in, one row of E for each
    model.embed(texts)                              (n, width): strings in, one vector for each text

Both are called embedding, and people ask a model for both by the same name. The second is computed by the whole model
(sentence_vectors.py), which the table knows but does not own: it is no part of the table's state, and it is freed as
soon as nobody needs it.
"""

import sys
import weakref
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.models.base import Model
from cutaway.overriding import override


class TokenTable(Embedding):
    """emb(v) = row v of a learned matrix E; ``table(texts)`` asks ``model`` for the vectors of whole texts."""

    def __init__(self, vocabulary: int, width: int, model: nn.Module) -> None:
        super().__init__(vocabulary, width)
        self.asked = ModelReference(model)

    @override
    def __call__(self, tokens: Any, *args: Any, **options: Any) -> Any:
        if isinstance(tokens, Tensor):
            return super().__call__(tokens, *args, **options)
        from cutaway.models.transformers.sentence_vectors import embed_texts

        return embed_texts(self.asked.release(), tokens, *args, **options)


class TextModel(Model):
    """A model that begins with a `TokenTable`, called ``embed``."""

    sentence_layers: nn.ModuleList | None

    def token_states(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
        states: list[Tensor] | None = None,
    ) -> Float[Tensor, "b t w"]:
        """The last hidden states, which sentence vectors and heads of labels are made of; ``mask`` marks real tokens.

        ``states``, an empty list, is given those of all layers, from the embeddings to the last.
        """
        raise ValueError(f"texts have vectors in a model with token_states, got a {type(self).__name__}; define it")

    @override
    def represent(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
    ) -> Float[Tensor, "b *t w"]:
        head: Any = self.head
        states: list[Tensor] | None = [] if head.wants_layers else None
        z = self.token_states(tokens, mask, segments, states)
        return head.read(z if states is None else states, mask)

    def __del__(self) -> None:
        # In `from_pretrained(folder).embed(texts)` nobody holds the model when its table is called: the table does.
        modules = self.__dict__.get("_modules") or {}
        if not sys.is_finalizing() and _references(modules) > _OWN:
            modules["embed"].asked.keep(self)


class ModelReference:
    """A reference that does not keep a model in memory, and that a copy of the model points at the copy."""

    def __init__(self, model: nn.Module | None) -> None:
        self.weak = None if model is None else weakref.ref(model)
        self.strong: nn.Module | None = None

    def keep(self, model: nn.Module) -> None:
        """Keeps a model that nobody else does, until it is asked for."""
        self.strong = model

    def release(self) -> nn.Module:
        """The model, which is from now on the caller's to keep."""
        model, self.strong = self.strong or self.__getstate__(), None
        if model is None:
            raise ValueError("texts are embedded by a whole model, got its token table alone; keep the model")
        return model

    def __deepcopy__(self, memory: dict[int, Any]) -> "ModelReference":
        model = self.__getstate__()
        return ModelReference(memory.get(id(model), model))

    @override
    def __getstate__(self) -> nn.Module | None:
        return None if self.weak is None else self.weak()

    def __setstate__(self, model: nn.Module | None) -> None:
        self.__init__(model)  # type: ignore[misc]


def _references(modules: dict[str, Any]) -> int:
    """How many references there are to the table of a model with these parts; 0 if it has none."""
    return sys.getrefcount(modules["embed"]) if isinstance(modules.get("embed"), TokenTable) else 0


def _own_references() -> int:
    table = TokenTable.__new__(TokenTable)
    modules = {"embed": table}
    del table
    return _references(modules)


_OWN = _own_references()  # of a table that its model alone refers to

__all__ = ["TextModel", "TokenTable"]
