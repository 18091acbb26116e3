r"""Builds the blocks that the parts of a spec describe, and initialises and runs layers as all transformers do."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.transformer_layers import DecoderLayer, EncoderLayer
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.dense.mlps import MLP, GatedMLP
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.blocks.norms.rms import RMSNorm
from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.blocks.positions.relative import alibi_bias
from cutaway.blocks.positions.rotary import PassPositions, Rotary
from cutaway.blocks.positions.rotary_scalings import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    Scaling,
    YaRNScaling,
)
from cutaway.blocks.positions.sinusoidal import SinusoidalPosition
from cutaway.inside.quiet import equation_of
from cutaway.models.specs.architectures import MLPSpec, ModelSpec, NormSpec, PositionSpec, ScalingSpec
from cutaway.overriding import override


def build_norm(spec: NormSpec, width: int) -> LayerNorm | RMSNorm:
    return RMSNorm(width, spec.epsilon) if spec.kind == "rms" else LayerNorm(width, spec.epsilon, spec.bias)


def build_position(spec: PositionSpec, context: int, width: int) -> LearnedPosition | SinusoidalPosition | None:
    """The positions that are added to the input, if they are of that kind."""
    if spec.kind == "learned":
        return LearnedPosition(context, width)
    return SinusoidalPosition(width, spec.base) if spec.kind == "sinusoidal" else None


def build_scaling(spec: ScalingSpec) -> Scaling:
    if spec.kind == "linear":
        return LinearScaling(spec.factor)
    if spec.kind == "ntk":
        return NTKScaling(spec.factor)
    assert spec.context is not None
    if spec.kind == "dynamic":
        return DynamicNTKScaling(spec.factor, spec.context)
    turns = {"slow": spec.slow, "fast": spec.fast} if spec.kind == "yarn" else {"low": spec.slow, "high": spec.fast}
    given: dict[str, float] = {name: value for name, value in turns.items() if value is not None}
    if spec.kind == "llama3":
        return Llama3Scaling(spec.factor, spec.context, **given)
    return YaRNScaling(spec.factor, spec.context, attention=spec.attention, whole=spec.whole, **given)


class Prepare(nn.Module):
    """Prepares queries and keys for their product: normalises (Henry et al. 2020) and turns each by its position."""

    def __init__(self, query_norm: RMSNorm | None, key_norm: RMSNorm | None, rotary: Rotary | None) -> None:
        super().__init__()
        self.query_norm, self.key_norm, self.rotary = query_norm, key_norm, rotary

    @override
    def forward(self, q: Tensor, k: Tensor, positions: Tensor | PassPositions | None = None) -> tuple[Tensor, Tensor]:
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        if self.rotary is not None:
            q, k = self.rotary(q, k, positions=positions)
        return q, k

    def equation(self, q: Tensor, k: Tensor, positions: Tensor | PassPositions | None = None) -> tuple[Tensor, Tensor]:
        if self.query_norm is not None and self.key_norm is not None:
            q, k = equation_of(self.query_norm)(q), equation_of(self.key_norm)(k)
        rotary = self.rotary
        return (q, k) if rotary is None else equation_of(rotary)(q, k, positions=positions)


def build_attention(spec: ModelSpec, cross: bool = False) -> MultiHeadAttention:
    """Self-attention of a model; cross attention has no positions, as its two sides count apart."""
    own, position = spec.attention, spec.position
    head_width = own.head_width or spec.width // own.heads
    rotary = None
    if position.kind == "rotary" and not cross:
        scaling = None if position.scaling is None else build_scaling(position.scaling)
        rotary = Rotary(int(head_width * position.share), position.base, position.layout, scaling)
    norms = [RMSNorm(head_width, spec.norm.epsilon) if own.norm else None for _ in range(2)]
    prepare = Prepare(norms[0], norms[1], rotary) if rotary is not None or own.norm else None
    return MultiHeadAttention(
        spec.width, own.heads, own.kv_heads, own.head_width, own.bias, own.scale, own.dropout, prepare
    )


def build_mlp(spec: MLPSpec, width: int) -> MLP | GatedMLP:
    kind = GatedMLP if spec.gated else MLP
    return kind(width, spec.hidden, find_activation(spec.activation), spec.bias, spec.dropout)


def build_encoder_layer(spec: ModelSpec) -> EncoderLayer:
    norm = lambda: build_norm(spec.norm, spec.width)
    return EncoderLayer(build_attention(spec), build_mlp(spec.mlp, spec.width), norm, spec.order, spec.dropout)


def build_decoder_layer(spec: ModelSpec) -> DecoderLayer:
    norm = lambda: build_norm(spec.norm, spec.width)
    cross = build_attention(spec, cross=True)
    return DecoderLayer(build_attention(spec), cross, build_mlp(spec.mlp, spec.width), norm, spec.order, spec.dropout)


def build_last_norm(spec: ModelSpec) -> LayerNorm | RMSNorm | None:
    """Post-norm layers end in a norm of their own; other streams need a last one."""
    return None if spec.order == "post" else build_norm(spec.norm, spec.width)


def position_bias(spec: ModelSpec, queries: int, start: int, like: Tensor) -> Tensor | None:
    """The bias that ALiBi adds to the scores; None for models without it."""
    if spec.position.kind != "alibi":
        return None
    return alibi_bias(spec.attention.heads, queries, start + queries, start, dtype=like.dtype, device=like.device)


def run_layer(layer: nn.Module, checkpointing: bool, x: Tensor, *args: Any, **options: Any) -> Tensor:
    """One layer, its inside computed again in backward if asked for (Chen et al. 2016); never if a cache would grow."""
    if checkpointing and layer.training and torch.is_grad_enabled() and options.get("cache") is None:
        return checkpoint(layer, x, *args, use_reentrant=False, **options)
    return layer(x, *args, **options)


def drop(x: Tensor, rate: float, training: bool) -> Tensor:
    return nn.functional.dropout(x, rate) if rate and training else x


def initialise_transformer(model: nn.Module, depth: int, scale: float = 0.02) -> None:
    """As GPT-2: weights from N(0, 0.02²), biases 0, the maps back into the residual stream smaller by √(2 × depth).

    Which these are, the modules declare: ``linear_maps`` and ``lookup_tables`` (Linear, Embedding), and
    ``residual_writers`` (attention, MLP). On the meta device there is nothing to set.
    """
    if next(model.parameters()).is_meta:
        return  # drawing meta tensors would import torch's compiler, which takes a second
    for module in model.modules():
        for name in (*getattr(module, "linear_maps", ()), *getattr(module, "lookup_tables", ())):
            nn.init.normal_(getattr(module, name), 0.0, scale)
        if getattr(module, "linear_maps", ()) and isinstance(module.bias, nn.Parameter):
            nn.init.zeros_(module.bias)
    for end in residual_writers(model):
        nn.init.normal_(end.weight, 0.0, scale / (2 * depth) ** 0.5)


def residual_writers(model: nn.Module) -> list[Linear]:
    """The linear maps whose outputs are added to the residual stream, as the modules that own them declare."""
    owners = [module for module in model.modules() if getattr(module, "residual_writers", ())]
    found = [owner.get_submodule(name) for owner in owners for name in owner.residual_writers]  # type: ignore[union-attr]
    return [end for end in found if isinstance(end, Linear)]


def start_quietly(model: nn.Module) -> None:
    """Zeros the maps back into the residual stream and the last one: layers start as the identity, guesses as even."""
    for end in [*residual_writers(model), model.unembed]:
        nn.init.zeros_(end.weight)  # type: ignore[union-attr, arg-type]
