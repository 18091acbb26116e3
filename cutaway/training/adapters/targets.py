r"""Which linear layers and convolutions an address glob names, for what is put on top of them.

    "blocks.*.attention"            all layers inside: queries, keys, values, out
    "blocks.*.attention.queries"    W_Q alone, also where one matrix holds [W_Q W_K W_V]
    "blocks.*.attention.qkv"        that matrix as a whole
    "stages.*"                      of a CNN, the convolutions of its stages
    "all-linear"                    all linear layers but those that make the outputs; no convolutions, as in peft

Modules declare what their matrices hold: ``fused_parts`` and ``part_names`` say which maps stand side by side in a
child, ``bare_matrices`` which children are never called, because their matrix is read: nothing can stand in for those.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch import nn

from cutaway.blocks.low_rank.linear_layers import is_convolution, is_linear, matrix_of
from cutaway.blocks.low_rank.lora import WHOLE, LoRA
from cutaway.inside.address_globs import UnknownAddress, matching, unknown_address, walk_modules
from cutaway.training.adapters.freezing import as_patterns
from cutaway.training.adapters.records import expect_sizes_known
from cutaway.training.optimizers.groups import output_weights

ALL_LINEAR = "all-linear"
_HEADS = ("head", "unembed", "classify", "lm_head", "classifier", "score", "cls")  # what holds output layers


class Layer(NamedTuple):
    """A layer (or the LoRA around it), its first path, and the sizes of the maps in it, if it holds several."""

    path: str
    module: nn.Module
    parts: dict[str, int]

    @property
    def base(self) -> nn.Module:
        return self.module.base if isinstance(self.module, LoRA) else self.module


class Target(NamedTuple):
    """A layer, or one of the maps that it holds."""

    layer: Layer
    part: str = WHOLE


def lora_layers(model: nn.Module) -> tuple[dict[str, Layer], set[str]]:
    """Every linear layer and convolution by each of its paths, and the paths of those that are never called."""
    modules = dict(walk_modules(model))
    known: dict[int, Layer] = {}
    found: dict[str, Layer] = {}
    bare = set()
    for path, module in modules.items():
        for child in _bare_matrices(module):
            bare.add(f"{path}.{child}".lstrip("."))
    for path, module in modules.items():
        if path and path not in bare and _can_wrap(module.base if isinstance(module, LoRA) else module):
            parts = _parts(modules[path.rpartition(".")[0]], path.rpartition(".")[2], module)
            found[path] = known.setdefault(id(module), Layer(path, module, parts))
    return found, bare


def _can_wrap(module: nn.Module) -> bool:
    return is_linear(module) or is_convolution(module)


def _bare_matrices(module: nn.Module) -> Sequence[str]:
    if isinstance(module, nn.MultiheadAttention):
        return ("out_proj",)
    declared = getattr(module, "bare_matrices", ())
    return declared if isinstance(declared, tuple) else ()


def _parts(owner: nn.Module, child: str, layer: nn.Module) -> dict[str, int]:
    """The names and sizes of the maps in a child, as its owner declares them."""
    names, sizes = (getattr(owner, what, None) for what in ("part_names", "fused_parts"))
    if not (isinstance(names, Mapping) and isinstance(sizes, Mapping) and child in names and child in sizes):
        return {}
    outputs = matrix_of(layer.base if isinstance(layer, LoRA) else layer).shape[1]
    size = sizes[child]
    return dict(zip(names[child], [outputs // size] * size if isinstance(size, int) else size, strict=True))


def find_targets(model: nn.Module, patterns: str | Iterable[str]) -> list[Target]:
    """The layers that the patterns name, in the order of the model."""
    patterns = as_patterns(patterns, "a target")
    if not patterns:
        raise ValueError("LoRA needs layers to be put onto, got no target; name some: 'all-linear'")
    expect_sizes_known(model)
    layers, bare = lora_layers(model)
    if not layers:
        raise ValueError(
            f"LoRA needs linear layers or convolutions, got a {type(model).__name__} without one inside that it could "
            "replace; "
            "put a bare layer into nn.Sequential, and for other layers use cut.adapter or cut.freeze"
        )
    found: dict[tuple[str, str], Target] = {}
    for pattern in patterns:
        for target in _named_by(model, pattern, layers, bare):
            found[target.layer.path, target.part] = target
    both = [path for path, part in found if part == WHOLE and any(p == path and q != WHOLE for p, q in found)]
    if both:
        parts = ", ".join(part for path, part in found if path == both[0] and part != WHOLE)
        raise ValueError(
            f"a matrix is changed as a whole or by its parts, got {both[0]} and of it {parts}; leave out one of them"
        )
    order = {layer.path: i for i, layer in enumerate(layers.values())}
    return sorted(found.values(), key=lambda t: (order[t.layer.path], [WHOLE, *t.layer.parts].index(t.part)))


def _named_by(model: nn.Module, pattern: str, layers: dict[str, Layer], bare: set[str]) -> Iterator[Target]:
    if pattern == ALL_LINEAR:
        yield from _all_but_outputs(model, layers)
        return
    parts = {f"{_owner(path)}{part}": Target(layer, part) for path, layer in layers.items() for part in layer.parts}
    named = [parts[path] for path in matching(pattern, parts)]
    by_part = {target.layer.path for target in named}
    yield from named
    yield from (Target(layers[path]) for path in matching(pattern, layers) if layers[path].path not in by_part)
    holders = {path for path, _ in walk_modules(model) if path not in layers and path not in bare}
    inside = [f"{path}." for path in matching(pattern, holders)]
    if pattern in ("", "."):
        inside = [""]
    held = [layer for path, layer in layers.items() if path.startswith(tuple(inside))] if inside else []
    for layer in held:
        yield from _each_part(layer)
    if not (named or held or matching(pattern, layers)):
        known = [*layers, *parts]
        if barred := matching(pattern, bare):
            raise ValueError(
                f"LoRA needs a layer that is called, got {barred[0]}, whose matrix is read by the module around it; "
                f"those that it can take: {', '.join(known[:5])}"
            )
        raise UnknownAddress(
            unknown_address(pattern, known, "name linear layers or convolutions of the model, or what holds some")
        )


def _owner(path: str) -> str:
    owner = path.rpartition(".")[0]
    return f"{owner}." if owner else ""


def _each_part(layer: Layer) -> list[Target]:
    return [Target(layer, part) for part in layer.parts] or [Target(layer)]


def _all_but_outputs(model: nn.Module, layers: dict[str, Layer]) -> list[Target]:
    """peft's rule: every linear layer but the ones that make the outputs, which are trained in full or not at all."""
    outputs = output_weights(model)
    found = [
        target
        for path, layer in layers.items()
        if is_linear(layer.base) and id(_weight(layer)) not in outputs and path.split(".")[0] not in _HEADS
        for target in _each_part(layer)
    ]
    if not found:
        raise ValueError(
            f"all-linear is every linear layer but the outputs', got a model with no other: "
            f"{', '.join(list(layers)[:5])}; name the layers, or what holds them: convolutions too can have LoRA"
        )
    return found


def _weight(layer: Layer) -> Any:
    return layer.base.weight
