"""Augmentation of series: what each keeps, the same for the same seed, padding untouched, and bad input."""

import pytest
import torch

from cutaway.training import jitter, magnitude_warp, permute_pieces, scaling, time_warp, window_slice, window_warp
from cutaway.training.augmentation.series import _spline_basis, resample

ALL = [jitter, scaling, magnitude_warp, time_warp, window_slice, window_warp, permute_pieces]
CLOCKED = [jitter, time_warp, window_slice, window_warp, permute_pieces]  # those that know lengths


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def waves(*shape: int) -> torch.Tensor:
    return torch.sin(torch.randn(shape[0], *[1] * (len(shape) - 1)) + torch.randn(*shape).cumsum(1) / 5)


@pytest.mark.parametrize("shape", [(3, 40), (3, 40, 2), (0, 40), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("change", ALL)
def test_shape_seed_and_purity(change, shape):
    x = waves(*shape)
    before = x.clone()
    first, again = (change(x, generator=seeded()) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(x, before)
    assert first.shape == x.shape
    assert first.isfinite().all()
    if shape[0] and shape[1] > 1:
        assert not torch.equal(first, x)
        assert not torch.equal(first, change(x, generator=seeded(1)))


@pytest.mark.parametrize("change", CLOCKED)
def test_what_comes_after_the_end_stays(change):
    x, lengths = waves(4, 30, 2), torch.tensor([30, 11, 2, 1])
    new = change(x, lengths=lengths, generator=seeded())
    for row, other, length in zip(new, x, lengths.tolist()):
        assert torch.equal(row[length:], other[length:])
        alone = row[:length]
        if change is not jitter:
            low, high = other[:length].amin(0), other[:length].amax(0)
            assert (alone >= low - 1e-5).all()
            assert (alone <= high + 1e-5).all()  # nothing leaks in from beyond
    assert not torch.equal(new[1, :11], x[1, :11])


@pytest.mark.parametrize(
    ("change", "options"),
    [(jitter, {"scale": 0}), (scaling, {"scale": 0}), (magnitude_warp, {"scale": 0}), (time_warp, {"scale": 0}),
     (window_slice, {"share": 1}), (window_warp, {"factor": 1}), (permute_pieces, {"pieces": 1})],
)  # fmt: skip
def test_nothing_asked_nothing_done(change, options):
    x = waves(3, 40, 2)
    torch.testing.assert_close(change(x, **options), x, atol=1e-4, rtol=0)


def test_jitter_is_in_units_of_each_series():
    x = torch.stack([torch.randn(4000), 1000 * torch.randn(4000), torch.full((4000,), 7.0)])
    noise = jitter(x, 0.1, generator=seeded()) - x
    assert noise.std(1).tolist() == pytest.approx([0.1, 100, 0], rel=0.1)


def test_scaling_keeps_the_shape():
    x = waves(3, 40, 2)
    ratio = scaling(x, 0.3, generator=seeded()) / x
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert len(ratio[:, 0].unique()) == 6  # one for each series and channel


def test_the_gain_of_a_magnitude_warp_is_smooth():
    x = torch.ones(50, 400)
    gain = magnitude_warp(x, 0.2, generator=seeded())
    assert gain.mean().item() == pytest.approx(1, abs=0.1)
    assert 0.1 < gain.std().item() < 0.3
    assert gain.diff(dim=1).diff(dim=1).abs().max() < 0.001


@pytest.mark.parametrize("change", [time_warp, window_warp])
def test_a_warped_clock_rises_from_end_to_end(change):
    """Of the series x_t = t the new one is the clock itself."""
    clock = change(torch.arange(100.0).expand(20, 100), generator=seeded())
    assert torch.allclose(clock[:, 0], torch.zeros(20), atol=1e-4)
    assert torch.allclose(clock[:, -1], torch.full((20,), 99.0), atol=1e-4)
    assert (clock.diff(dim=1) > 0).all()


def test_a_window_runs_at_twice_or_half_the_speed_of_the_rest():
    speeds = window_warp(torch.arange(1000.0).expand(30, 1000), generator=seeded()).diff(dim=1)
    for row in speeds:
        typical = row.median()
        inside = row[(row - typical).abs() > 0.1]
        ratio = (inside.median() / typical).item()
        assert ratio == pytest.approx(2, abs=0.05) or ratio == pytest.approx(0.5, abs=0.05)


def test_a_slice_is_a_stretched_window():
    clock = window_slice(torch.arange(101.0).expand(50, 101), 0.6, generator=seeded())
    torch.testing.assert_close(clock.diff(dim=1), torch.full((50, 100), 0.6), atol=1e-4, rtol=0)
    assert clock.min() >= 0
    assert clock.max() <= 100
    assert clock[:, 0].std() > 5  # it begins anywhere


def test_pieces_change_places_whole():
    new = permute_pieces(torch.arange(12).expand(40, 12).double(), 3, generator=seeded())
    found = {tuple(row) for row in new.long().tolist()}
    assert all(set(row[i : i + 4]) in ({0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}) for row in found for i in (0, 4, 8))
    assert len(found) == 6  # every order of three
    assert permute_pieces(torch.arange(3.0)[None], 10, generator=seeded()).sort().values.tolist() == [[0, 1, 2]]


def test_channels_share_their_clock():
    x = torch.arange(50.0)[None, :, None].expand(2, 50, 3)
    for change in (time_warp, window_slice, window_warp, permute_pieces):
        new = change(x, generator=seeded())
        assert torch.equal(new[..., 0], new[..., 1])


def test_splines_are_those_of_scipy():
    interpolate = pytest.importorskip("scipy.interpolate")
    values = torch.randn(6, dtype=torch.float64)
    peer = interpolate.CubicSpline(range(6), values.numpy(), bc_type="natural")
    at = torch.linspace(0, 5, 41, dtype=torch.float64)
    torch.testing.assert_close(values @ _spline_basis(6, 41), torch.from_numpy(peer(at.numpy())))


def test_resampling_has_a_gradient(float64):
    x, times = torch.randn(2, 5, 3, requires_grad=True), torch.rand(2, 5) * 4
    assert torch.autograd.gradcheck(lambda x: resample(x, times), (x,))


def test_bad_input():
    with pytest.raises(ValueError, match="scale must be 0 or above, got -1"):
        jitter(torch.randn(2, 5), -1)
    with pytest.raises(ValueError, match="share must be above 0 and at most 1, got 90"):
        window_slice(torch.randn(2, 5), 90)
    with pytest.raises(ValueError, match="lengths must be one for each of the 2 series, from 1 to 5, got 2 from 0"):
        time_warp(torch.randn(2, 5), lengths=torch.tensor([0, 9]))
    with pytest.raises(ValueError, match=r"series must have shape \(batch, steps\) or .*, got \(2, 0\)"):
        scaling(torch.randn(2, 0))
