r"""Receptive fields: which pixels a unit inside a network reads, and how much each of them matters to it.

    exact           R = {p : y may change with x_p}     by what each operation reads (dependency_tracing.py)
    effective       E_p = mean_x |∂y/∂x_p|              y: the network itself, over images x

The exact field is found by one pass and one walk back through whatever the model computes: skips, branches, strides,
dilation, attention, sorting, comparisons, choices by an index, changes in place, and the borders of the image. Where
the model has an operation whose structure is not known, or takes a number out of torch, that counts as reading all
that goes in: the field is then an upper bound, and says so. The effective field is smaller, and is strongest in the
middle: many paths lead to the middle of a field and few to its rim. Luo et al. 2016. Notes: N3 §6.2.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.inside.results import tensors
from cutaway.inside.tracing import trace
from cutaway.look.images.dependency_tracing import DependencyTrace
from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.overlays import framed, tinted
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import short
from cutaway.overriding import override

_DRAWS = 4  # random signs of the channels for each image


@dataclass(frozen=True)
class ReceptiveField:
    """Which pixels a unit reads: ``reads`` (h, w) is True there. ``box`` is the smallest box around them.

    ``box`` is (top, left, bottom, right), bottom and right one further than the last pixel; None if it reads none.
    ``place`` is where the unit is in its map, and ``grid`` the size of that map. ``unknown`` names operations on the
    way that are not known, and count as reading everything: with one of them, the unit reads at most these pixels.
    """

    reads: Bool[np.ndarray, "h w"]
    place: tuple[int, ...]
    grid: tuple[int, ...]
    unknown: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether each of these pixels is read; otherwise at most these are."""
        return not self.unknown

    @override
    def __str__(self) -> str:
        height, width = self.size
        most = "" if self.exact else "at most "
        text = f"reads {most}{int(self.reads.sum()):,} pixels in a box of {height} × {width}"
        return text if self.exact else f"{text} (conservative: operations not known: {', '.join(self.unknown)})"

    @property
    def box(self) -> tuple[int, int, int, int] | None:
        rows, columns = np.flatnonzero(self.reads.any(1)), np.flatnonzero(self.reads.any(0))
        if not len(rows):
            return None
        return int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the box."""
        box = self.box
        return (0, 0) if box is None else (box[2] - box[0], box[3] - box[1])


def receptive_field(
    model: nn.Module, images: Float[Tensor, "b c h w"], at: str = "", place: Sequence[int] | int | None = None
) -> ReceptiveField:
    """The pixels that a unit reads: that of ``at`` (an address; "" is the output) at ``place`` in its map.

    The field is exact, or it is an upper bound and its ``unknown`` names why. Only the size of ``images`` matters.
    ``place`` is a row and a column of a map (b, channels, h, w), the number of a token (b, tokens, width) or of a
    feature (b, features); None for the middle, or for all features. All channels of a place count: each of them reads
    what the others read, in all networks that do not treat channels differently.

    >>> stack = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    >>> receptive_field(stack, torch.zeros(1, 1, 9, 9)).size
    (5, 5)
    """
    _expect_images(images)
    weight = next((p for p in model.parameters() if p.is_floating_point()), images)
    x = images[:1].detach().to(weight.dtype)
    with _still(model), _taken_apart(), torch.no_grad(), DependencyTrace(x) as dependencies:
        value = _value(model, x.clone(), at)
    wanted = torch.zeros(value.shape, dtype=torch.bool)
    unit, grid = _unit(wanted, place, at)
    unit.fill_(True)
    reads, unknown = dependencies.read_for(value, wanted)
    return ReceptiveField(reads[0].any(0).numpy(), _chosen(value, place), grid, unknown)


def effective_field(
    model: nn.Module,
    images: Float[Tensor, "b c h w"],
    at: str = "",
    place: Sequence[int] | int | None = None,
    seed: int = 0,
) -> Float[np.ndarray, "h w"]:
    """E_p = mean |∂y/∂x_p| over images, for y the unit's channels with random signs; scaled so that its sum is 1."""
    _expect_images(images)
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros(images.shape[2:], dtype=torch.float64)
    with _still(model), torch.enable_grad():
        x = images.detach().clone().requires_grad_()
        found, _ = _unit(_value(model, x.view_as(x), at), place, at)
        for _ in range(_DRAWS):
            signs = torch.randint(0, 2, found.shape, generator=generator).to(found) * 2 - 1
            (slope,) = torch.autograd.grad((found * signs).sum(), x, retain_graph=True)
            total += slope.abs().sum((0, 1)).double().cpu()
    return (total / total.sum().clamp(min=torch.finfo(torch.float64).tiny)).numpy()


def field_picture(
    model: nn.Module, images: Float[Tensor, "b c h w"], addresses: Sequence[str], *, title: str = ""
) -> Picture:
    """What a unit in the middle of each value sees of the first image: all that it reads, and how much that matters.

    The effective field is a mean over all ``images``.
    """
    exact, effective, heads = [], [], []
    unknown: dict[str, None] = {}
    for at in addresses:
        field = receptive_field(model, images, at)
        unknown |= dict.fromkeys(field.unknown)
        exact.append(framed(images[0], field.reads))
        heat = effective_field(model, images, at)
        effective.append(tinted(images[0], heat / max(heat.max(), 1e-300)))
        heads.append(f"{'' if field.exact else '≤ '}{field.size[0]}×{field.size[1]} pixels")
    last = f"{addresses[-1]} reads a box of {heads[-1].replace('≤', 'at most')}"
    return image_grid(
        [*exact, *effective],
        title=title or "What a unit in the middle of each layer sees",
        columns=len(addresses),
        rows=["reads", "matters"],
        heads=[short(at.removesuffix(".output"), 16) for at in addresses],
        names=[*heads, *[""] * len(addresses)],
        cell=112,
        alt=f"Receptive fields of {len(addresses)} layers on an image of {images.shape[2]}×{images.shape[3]}: {last}.",
        caption="Above, all that the unit reads (bright); below, the more orange a pixel, the more it matters: later "
        "layers see more, and the middle counts most."
        + (f" At most (≤) where operations are not known: {', '.join(unknown)}." if unknown else ""),
    )


def _value(model: nn.Module, x: Tensor, at: str) -> Tensor:
    if not at:
        output = model(x)
    else:
        with trace(model, at, stop=True) as seen:
            model(x)
        names = list(seen)
        if len(names) != 1:
            raise ValueError(
                f"a receptive field is that of one value, got {at!r} for {len(names)}: {', '.join(names[:5])}; "
                "name one of them"
            )
        output = seen.calls[names[0]][0]
    value = next(tensors(output), None)
    if value is None or value.ndim < 2:
        raise ValueError(f"a unit is part of a tensor (batch, …), got none at {at or 'the output'!r}; choose another")
    return value


def _axes(value: Tensor) -> tuple[int, ...]:
    """The axes along which a unit is chosen: rows and columns, tokens, or features."""
    return {2: (1,), 3: (1,)}.get(value.ndim, tuple(range(2, value.ndim)))


def _chosen(value: Tensor, place: Sequence[int] | int | None) -> tuple[int, ...]:
    if place is not None:
        return (place,) if isinstance(place, int) else tuple(place)
    return () if value.ndim == 2 else tuple(value.shape[axis] // 2 for axis in _axes(value))


def _unit(value: Tensor, place: Sequence[int] | int | None, at: str) -> tuple[Tensor, tuple[int, ...]]:
    """All channels of a place, and the size of the map that it is in."""
    axes, chosen = _axes(value), _chosen(value, place)
    grid = tuple(value.shape[axis] for axis in axes)
    if not chosen:
        return value, grid
    if len(chosen) != len(axes) or not all(0 <= i < n for i, n in zip(chosen, grid)):
        raise ValueError(
            f"a place must be inside the map {' × '.join(map(str, grid))} of {at or 'the output'!r}, got {chosen}; "
            f"try {tuple(n // 2 for n in grid)}"
        )
    for axis, i in zip(reversed(axes), reversed(chosen)):
        value = value.select(axis, i)
    return value, grid


@contextmanager
def _still(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, as dropout and the statistics of a batch are no part of a field."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _taken_apart() -> Iterator[None]:
    """torch without the kernels that do a whole layer at once, which do not tell what they read."""
    fast, layers = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)  # torch.backends.mkldnn.flags warns about graphics cards
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        torch._C._set_mkldnn_enabled(layers)


def _expect_images(images: Any) -> None:
    if not isinstance(images, Tensor) or images.ndim != 4 or not images.is_floating_point() or not images.numel():
        shape = f"{tuple(images.shape)} of {images.dtype}" if isinstance(images, Tensor) else type(images).__name__
        raise ValueError(
            f"images must be floats of shape (batch, channels, height, width), got {shape}; for one image use "
            "images[None]"
        )


__all__ = ["ReceptiveField", "effective_field", "field_picture", "receptive_field"]
