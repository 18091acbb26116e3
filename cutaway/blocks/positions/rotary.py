r"""Rotary positions: queries and keys are turned by their position, so that their product depends on distance alone.

    θ_k = base^{−2k/w}                              speed of pair k = 0 … w/2 − 1
    R_i (a, b)_k = (a cos iθ_k − b sin iθ_k, b cos iθ_k + a sin iθ_k)
    (R_i q) · (R_j k) = q · R_{j−i} k               depends on i and j through j − i

The pair k is (x_k, x_{k+w/2}) in the layout "half" (Llama, Qwen, GPT-NeoX) and (x_{2k}, x_{2k+1}) in "interleaved" (the
paper, GPT-J). Su et al. 2021. Scalings for contexts longer than those trained on: rotary_scalings.py.
Notes: N3 §5.7.2. Axis letters: docs/notation.md.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_even, expect_float, expect_positive
from cutaway.blocks.positions.rotary_scalings import Scaling
from cutaway.inside.taps import Tap
from cutaway.overriding import override

LAYOUTS = ("half", "interleaved")


def rotate(
    x: Float[Tensor, "*b t d"], angles: Float[Tensor, "*#b t k"], layout: str = "half", amplitude: float = 1.0
) -> Float[Tensor, "*b t d"]:
    """R (a, b) = (a cos α − b sin α, b cos α + a sin α) for each pair (a, b) of entries of x and its angle α.

    The k angles turn the first 2k entries of x; the others pass (partial rotary). Half precision turns in float32.

    >>> rotate(torch.tensor([[3.0, 4.0]]), torch.tensor([[torch.pi / 2]]))
    tensor([[-4.0000,  3.0000]])
    """
    expect_float("x", x)
    expect_choice("layout", layout, LAYOUTS)
    _expect_entries("x", x, 2 * angles.shape[-1])
    turning, passing = x[..., : 2 * angles.shape[-1]].to(angles.dtype), x[..., 2 * angles.shape[-1] :]
    pairs = turning.unflatten(-1, (2, -1) if layout == "half" else (-1, 2))
    a, b = pairs.unbind(-2 if layout == "half" else -1)
    cosine, sine = amplitude * angles.cos(), amplitude * angles.sin()
    turned = torch.stack((a * cosine - b * sine, b * cosine + a * sine), -2 if layout == "half" else -1)
    return torch.cat((turned.flatten(-2).to(x.dtype), passing), -1)


def rotary_angles(
    positions: Real[Tensor, "*t"],
    width: int,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*t {width//2}"]:
    """α_ik = i θ_k with θ_k = base^{−2k/w}: the angle of every position i and pair k.

    Never below float32, where position 2049 would equal 2048. ``dtype`` is by default that of the positions if they
    are floats, else torch's.

    >>> rotary_angles(torch.arange(3), 4)
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100],
            [2.0000, 0.0200]])
    """
    expect_positive(width=width, base=base)
    expect_even(width=width)
    if dtype is None:
        dtype = positions.dtype if positions.is_floating_point() else torch.get_default_dtype()
    dtype = torch.promote_types(dtype, torch.float32)
    speeds = base ** (torch.arange(0, -width, -2, dtype=dtype, device=positions.device) / width)
    if scaling is not None:
        speeds = scaling.scale(speeds, base, positions)
    return positions.to(dtype).unsqueeze(-1) * speeds


class Waves(NamedTuple):
    """cos α and ± sin α, laid out as the entries that they meet: of a pair (a, b), a meets −α and b meets α."""

    cosines: Tensor
    sines: Tensor


class PassPositions:
    """The positions of the tokens in one pass. Their cosines and sines are computed once and serve all layers alike."""

    def __init__(self, positions: Int[Tensor, "*p t"]) -> None:
        self.positions = positions
        self._made_for: tuple[Rotary, torch.dtype] | None = None
        self._waves: Waves | None = None

    def waves(self, rotary: "Rotary", dtype: torch.dtype) -> Waves:
        """The cosines and sines of the last block, if this one turns at the same speeds, else new ones."""
        if self._waves is not None and self._made_for is not None:
            maker, made = self._made_for
            if made == dtype and (maker is rotary or maker.turns_like(rotary)):
                return self._waves
        self._made_for, self._waves = (rotary, dtype), rotary.waves(rotary.angles_at(self.positions, dtype))
        return self._waves


def _turn(x: Tensor, waves: Waves, layout: str) -> Tensor:
    """`rotate` by ready waves: (b, a) beside (a, b) takes half the time of cutting x into a and b and joining them."""
    cosines, sines = waves
    w, d = cosines.shape[-1], x.shape[-1]
    z = x if w == d else x[..., :w]
    if z.dtype != cosines.dtype:
        z = z.to(cosines.dtype)
    partner = z.roll(w // 2, dims=-1) if layout == "half" else z.unflatten(-1, (-1, 2)).roll(1, dims=-1).flatten(-2)
    y = torch.addcmul(z * cosines, partner, sines)
    if y.dtype != x.dtype:
        y = y.to(x.dtype)
    return y if w == d else torch.cat((y, x[..., w:]), dim=-1)


def _expect_entries(name: str, x: Tensor, width: int) -> None:
    if x.ndim < 2 or x.shape[-1] < width:
        raise ValueError(
            f"{name} must have shape (..., time, {width} or more), got {tuple(x.shape)}; "
            "rotate with the width of a head or less"
        )


class Rotary(nn.Module):
    """Turns queries and keys by their positions: q_i ← R_i q_i, k_j ← R_j k_j. Taps: ``angles``, ``queries``, ``keys``.

    ``q, k = rotary(q, k, offset=cached)``. The first ``width`` entries of each vector turn. ``offset`` is the position
    of the first query and key; ``positions`` gives them one by one, (t) for all or (b, t) where b is the first axis of
    q and k, or as `PassPositions`, which layers of one pass share. The angles are made anew in each pass, which takes
    little beside turning by them: no table can be rounded by ``.half()``, lost on the meta device, or too short.
    """

    def __init__(self, width: int, base: float = 10000.0, layout: str = "half", scaling: Scaling | None = None) -> None:
        super().__init__()
        expect_positive(width=width, base=base)
        expect_even(width=width)
        expect_choice("layout", layout, LAYOUTS)
        self.width, self.base, self.layout, self.scaling = width, base, layout, scaling
        self.angles = Tap()
        self.queries = Tap()
        self.keys = Tap()

    @override
    def forward(
        self,
        q: Float[Tensor, "*b t d"],
        k: Float[Tensor, "*c t d"],
        offset: int = 0,
        positions: Int[Tensor, "*p t"] | PassPositions | None = None,
    ) -> tuple[Float[Tensor, "*b t d"], Float[Tensor, "*c t d"]]:
        for name, x in (("q", q), ("k", k)):
            expect_float(name, x)
            _expect_entries(name, x, self.width)
        if isinstance(positions, PassPositions) and not self.angles.live:
            waves = positions.waves(self, q.dtype)
        else:
            if positions is None:
                positions = torch.arange(offset, offset + q.shape[-2], device=q.device)
            elif isinstance(positions, PassPositions):
                positions = positions.positions
            alpha = self.angles_at(positions, q.dtype)
            if self.angles.live:
                alpha = self.angles(alpha)
            waves = self.waves(alpha)
        q = _turn(q, _beside("q", q, waves), self.layout)
        k = _turn(k, _beside("k", k, waves), self.layout)
        if self.queries.live:
            q = self.queries(q)
        if self.keys.live:
            k = self.keys(k)
        return q, k

    def equation(
        self,
        q: Float[Tensor, "*b t d"],
        k: Float[Tensor, "*c t d"],
        offset: int = 0,
        positions: Int[Tensor, "*p t"] | PassPositions | None = None,
    ) -> tuple[Float[Tensor, "*b t d"], Float[Tensor, "*c t d"]]:
        if not isinstance(positions, PassPositions):
            return self.forward(q, k, offset, positions)
        waves = positions.waves(self, q.dtype)
        return _turn(q, _beside("q", q, waves), self.layout), _turn(k, _beside("k", k, waves), self.layout)

    def angles_at(self, positions: Int[Tensor, "*p t"], dtype: torch.dtype) -> Float[Tensor, "*p t k"]:
        """α = i θ_k of these positions i."""
        return rotary_angles(positions, self.width, self.base, self.scaling, dtype)

    def waves(self, angles: Float[Tensor, "*p t k"]) -> Waves:
        """The cosines and signed sines of these angles, times the amplitude of the scaling."""
        signed = (-angles, angles)
        alpha = torch.cat(signed, dim=-1) if self.layout == "half" else torch.stack(signed, dim=-1).flatten(-2)
        amplitude = 1.0 if self.scaling is None else self.scaling.amplitude
        cosines, sines = alpha.cos(), alpha.sin()
        return Waves(cosines, sines) if amplitude == 1 else Waves(amplitude * cosines, amplitude * sines)

    def turns_like(self, other: "Rotary") -> bool:
        """Whether both turn a vector at one position by the same angles."""
        mine, its = ((x.width, x.base, x.layout, x.scaling) for x in (self, other))
        return mine == its

    @override
    def extra_repr(self) -> str:
        scaling = "" if self.scaling is None else f", {self.scaling}"
        return f"width={self.width}, base={self.base:g}, {self.layout}{scaling}"


def _beside(name: str, x: Tensor, waves: Waves) -> Waves:
    """(b, t, w) as (b, 1, …, t, w): the axes of the positions are the first of x, whatever lies between (heads)."""
    *first, t, w = waves.cosines.shape
    room = x.ndim - waves.cosines.ndim
    if room < 0 or t != x.shape[-2] or any(p not in (1, b) for p, b in zip(first, x.shape)):
        raise ValueError(
            f"positions must have shape (time) or (batch, time) of {name}, got {(*first, t)} for {name} of shape "
            f"{tuple(x.shape)}; give one position for each vector along the time axis"
        )
    if not first or not room:
        return waves
    return Waves(*(wave.reshape(*first, *(1,) * room, t, w) for wave in waves))
