r"""Freezing: which parameters may change in training.

    θ = (θ_frozen, θ_trained)       no gradient is computed for θ_frozen, and no optimizer keeps state for it

Notes: N3 §8 (fine-tuning: head only, partly frozen, full).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from cutaway.inside.address_globs import UnknownAddress, matching, unknown_address, walk_modules
from cutaway.overriding import override
from cutaway.training.adapters.records import expect_sizes_known, named_parameters, unwrapped

Globs = str | Iterable[str]


@dataclass(frozen=True)
class TrainableShare:
    """How much of a model can be trained: numbers of parameters, shared ones counted once."""

    trainable: int
    parameters: int

    @property
    def share(self) -> float:
        return self.trainable / self.parameters if self.parameters else 0.0

    @override
    def __str__(self) -> str:
        return f"{self.trainable:,} of {self.parameters:,} parameters can be trained ({100 * self.share:.2f} %)"


def trainable_share(model: nn.Module) -> TrainableShare:
    parameters = list(unwrapped(model).parameters())
    return TrainableShare(sum(p.numel() for p in parameters if p.requires_grad), sum(p.numel() for p in parameters))


def freeze(model: nn.Module, parts: Globs = "**", but: Globs = ()) -> TrainableShare:
    """Freezes the named parts of a model, and lets those of ``but`` be trained: ``freeze(model, but="head.**")``.

    Both are globs of addresses, of modules (then all that is inside) or of single parameters. What neither names stays
    as it is. Returns the share of the parameters that can be trained. For batch norms see `hold_statistics`.
    """
    expect_sizes_known(model)
    frozen, trained = find_parameters(model, parts), find_parameters(model, but)
    for path, parameter in frozen.items():
        if path not in trained:
            parameter.requires_grad_(False)
            parameter.grad = None
    for parameter in trained.values():
        parameter.requires_grad_(True)
    return trainable_share(model)


def hold_statistics(model: nn.Module) -> None:
    """Puts norms whose weights are frozen into evaluation mode: they keep the running statistics that they have.

    In training mode a batch norm would go on to learn its statistics, frozen or not, and an adapter saved alone would
    then fit a base that no one has. Cutaway's training calls it; in a loop of your own call it after ``model.train()``.
    """
    for module in model.modules():
        own = list(module.parameters(recurse=False))
        if own and getattr(module, "running_mean", None) is not None and not any(p.requires_grad for p in own):
            module.eval()


def as_patterns(parts: Globs, what: str) -> list[str]:
    """Globs as a list; ``what`` are they in the words of a message."""
    if isinstance(parts, str):
        return [parts]
    patterns = list(parts) if isinstance(parts, Iterable) else [parts]
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise ValueError(f"{what} must be an address or a glob, got {pattern!r}; try 'blocks.*'")
    return patterns


def find_parameters(model: nn.Module, patterns: Globs) -> dict[str, nn.Parameter]:
    """The parameters that globs name, by their addresses; a glob that names none is refused."""
    known = named_parameters(model)
    holders = [path for path, _ in walk_modules(unwrapped(model)) if path]
    found: dict[str, nn.Parameter] = {}
    for pattern in as_patterns(patterns, "a part"):
        inside = tuple(f"{path}." for path in matching(pattern, holders))
        named = {*matching(pattern, known), *(path for path in known if inside and path.startswith(inside))}
        if not named:
            raise UnknownAddress(unknown_address(pattern, [*holders, *known], "name parameters or what holds some"))
        found |= {path: parameter for path, parameter in known.items() if path in named}
    return found
