r"""A layout holds the addresses of the parts of a language model, which the logit lens and other tools need.

    x₀ = embed(tokens) (+ positions);   x ← x + attention(…) + mlp(…);   logits = unembed(norm(x))

A model declares it by an attribute ``residual_stream``, a dict of the fields of `Layout`, as our GPT does. The layouts
of a few models of the library transformers are known. For any other model, pass a `Layout`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor, nn

from cutaway.inside.address_globs import find_sites, named_sites


@dataclass(frozen=True)
class Layout:
    """Addresses of the parts. ``stream``: the residual stream as it leaves each layer.

    ``norm`` is the last norm (None: there is none), ``unembed`` what makes logits of its output (None: the rows of
    ``embed``, which is then tied). ``attention`` is the linear map from the heads, side by side, back into the stream,
    ``mlp`` what else each layer adds to it; only tools that take layers apart need these two. ``heads`` may be left out
    where the model itself states their number.
    """

    stream: str
    norm: str | None
    unembed: str | None
    embed: str | None = None
    attention: str | None = None
    mlp: str | None = None
    heads: int | None = None


_NEOX = Layout(
    "gpt_neox.layers.*",
    "gpt_neox.final_layer_norm",
    "lm_head",
    "gpt_neox.embed_in",
    "gpt_neox.layers.*.attention.dense",
    "gpt_neox.layers.*.mlp",
)
LAYOUTS = (
    Layout(  # transformers' GPT-2
        "transformer.h.*",
        "transformer.ln_f",
        "lm_head",
        "transformer.wte",
        "transformer.h.*.attn.c_proj",
        "transformer.h.*.mlp",
    ),
    Layout(  # transformers' Llama, Mistral, Qwen
        "model.layers.*",
        "model.norm",
        "lm_head",
        "model.embed_tokens",
        "model.layers.*.self_attn.o_proj",
        "model.layers.*.mlp",
    ),
    _NEOX,
    replace(_NEOX, unembed="embed_out"),  # before transformers 5
)


class Parts:
    """A model with its layout: the modules by their parts, and the addresses of its layers in order."""

    def __init__(self, model: nn.Module, layout: Layout | None = None) -> None:
        self.model, self.sites = model, named_sites(model)
        self.layout = layout or self._declared() or self._known()
        self.layers = list(find_sites(self.sites, self.layout.stream))

    def _declared(self) -> Layout | None:
        fields = getattr(self.model, "residual_stream", ())
        if fields is None:
            raise ValueError(
                f"a model must predict tokens to be read layer by layer, got a {type(self.model).__name__} without a "
                "language head; use one that has it"
            )
        return Layout(**fields) if isinstance(fields, Mapping) else None

    def _known(self) -> Layout:
        for layout in LAYOUTS:
            needed = (layout.embed, layout.norm, layout.unembed, layout.stream.replace("*", "0"))
            if all(address is None or address in self.sites for address in needed):
                return layout
        raise ValueError(
            f"a model must have a layout that is known (Cutaway's GPT; transformers' GPT-2, Llama, Mistral, Qwen, "
            f"GPT-NeoX), got {type(self.model).__name__}; name its parts: "
            "layout=cut.look.Layout(stream='layers.*', norm='norm', unembed='head'), see cut.addresses(model)"
        )

    def module(self, address: str) -> nn.Module:
        return next(iter(find_sites(self.sites, address).values())).module

    def part(self, name: str) -> str:
        """The address of a part; an error if the layout does not have it."""
        address = getattr(self.layout, name)
        if address is None:
            raise ValueError(f"a layout must say where {name} is, got None; pass cut.look.Layout(…, {name}='address')")
        return str(address)

    def addresses(self, name: str) -> list[str]:
        """The addresses of a part that every layer has, in order."""
        return list(find_sites(self.sites, self.part(name)))

    def norm(self, x: Tensor) -> Tensor:
        """The last norm; the identity where there is none."""
        return x if self.layout.norm is None else self.module(self.layout.norm)(x)

    def unembed(self, x: Tensor) -> Tensor:
        """logits = x W (+ b), or x Eᵀ."""
        if self.layout.unembed is not None:
            return self.module(self.layout.unembed)(x)
        return nn.functional.linear(x, getattr(self.module(self.part("embed")), "weight"))  # noqa: B009 -- any module

    def heads(self, address: str) -> int:
        """How many heads come together in the map at this address."""
        if self.layout.heads is not None:
            return self.layout.heads
        owner = self.sites.get(address.rpartition(".")[0], self.model)
        for where in (owner, getattr(owner, "config", None), getattr(self.model, "config", None)):
            for name in ("heads", "num_heads", "num_attention_heads"):
                found = getattr(where, name, None)
                if isinstance(found, int):
                    return found
        raise ValueError(
            f"the number of heads must be known, got a model that does not say it at {address!r}; "
            "pass cut.look.Layout(…, heads=12)"
        )
