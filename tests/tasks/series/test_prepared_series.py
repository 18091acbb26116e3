"""Series as forecasters read them: large values with small steps keep them in float32, logarithms there and back."""

import numpy as np
import pytest

from cutaway.data.series.series_reading import read_series
from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.tasks.series.prepared_series import find_freaks, freak_note, prepare, without_freaks

METER = 1e9 + np.cumsum(1 + np.sin(np.arange(120.0)))  # steps of 0 to 2


def test_only_series_of_small_steps_are_moved():
    table = read_series({"meter": METER, "plain": np.arange(120.0), "still": np.full(120, 1e9), "short": METER[:1]})
    moved, offsets, _ = prepare(table, "student-t")
    assert abs(offsets[0] - METER.mean()) < 1
    assert offsets[1:].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(moved.values[0] + offsets[0], METER)
    assert prepare(table, "negative-binomial").table is table


def test_logarithms_there_and_back():
    table = read_series({"price": np.geomspace(1, 8, 10), "gap": [1.0, np.nan, *range(1, 9)]})
    prepared = prepare(table, "student-t", logarithm=True)
    np.testing.assert_allclose(np.diff(prepared.table.values[0]), np.log(8) / 9)  # log returns
    np.testing.assert_allclose(prepared.restore(prepared.apply(np.array([[2.0], [5.0]]))), [[2], [5]])
    assert np.isnan(prepared.apply(np.array([[0.0], [-1.0]]))).all()
    with pytest.raises(ValueError, match=r"above 0, got -2 in series 'b'; forecast the values themselves"):
        prepare(read_series({"a": [1.0, 2.0], "b": [1.0, -2.0]}), "student-t", logarithm=True)


def test_paths_of_logarithms_are_above_0():
    prices = np.exp(np.cumsum(np.random.default_rng(0).normal(0, 0.3, 80)))
    held = {"price": prices}
    recipe = DeepARRecipe.make(data=held, horizon=5, frequency="D", logarithm=True)
    learner = recipe.build(recipe.read())
    model = learner.model.eval()
    paths = learner.sample_paths(model, read_series({"price": prices}, frequency="D"), 5, 300, seed=0)
    assert paths.min() > 0
    with pytest.raises(ValueError, match="a logarithm is no count"):
        DeepARRecipe.make(data=held, logarithm=True, likelihood="negative-binomial").build(recipe.read())


def test_paths_of_a_meter_go_on_in_its_small_steps():
    recipe = DeepARRecipe.make(data={"meter": METER}, horizon=5, frequency="D")
    learner = recipe.build(recipe.read())
    model = learner.model.eval()  # untrained: the linear expert
    paths = learner.sample_paths(model, read_series({"meter": METER}, frequency="D"), 5, 50, seed=0)
    steps = np.diff(np.median(paths[0], 0), prepend=METER[-1])
    assert (np.abs(steps - 1) < 1.5).all()  # float32 alone would go in steps of 64
    assert len(np.unique(paths)) > 200


WAVE = 20 + 10 * np.sin(np.arange(60.0))


@pytest.mark.parametrize("freak", [1e9, -1e9, 1e30, -9999.0, 99999.0])
@pytest.mark.parametrize("at", [[0], [30], [59], [58, 59], [30, 31, 32], [5, 40]])
def test_freaks_are_missing(freak, at):
    values = WAVE.copy()
    values[at] = freak
    assert np.flatnonzero(find_freaks(values)).tolist() == at
    table = read_series({"a": values})
    assert np.isnan(without_freaks(table).values[0][at]).all()
    counts = "value far from all others" if len(at) == 1 else f"{len(at)} values far from all others"
    assert counts in freak_note(table)


def test_what_is_no_freak():
    level = np.r_[WAVE, [1e9, 1e9, 1e9]]  # three at the end: a new level
    growth = 2.0 ** np.arange(40)
    sales = np.r_[np.zeros(50), 400.0, np.zeros(9), 900.0]
    for values in (WAVE, level, growth, sales, np.full(60, 5.0), WAVE[:5], np.full(60, np.nan)):
        assert not find_freaks(values).any()


def test_a_short_series_and_one_that_stands_still_have_freaks_too():
    assert np.flatnonzero(find_freaks(np.r_[WAVE[:10], 1e9, WAVE[:3]])).tolist() == [10]
    assert np.flatnonzero(find_freaks(np.r_[np.full(20, 5.0), 1e9, np.full(20, 5.0)])).tolist() == [20]


@pytest.mark.parametrize(
    ("others", "freaks"),
    [
        ([1e9], [1e9]),
        ([3.0], []),
        ([500.0], []),
        ([5.0, 1e9, 3.0], [1e9]),
        ([500.0, 300.0, 700.0], []),
        ([1e9] * 3, []),
    ],
)
def test_freaks_among_zeros(others: list[float], freaks: list[float]):
    values = np.zeros(60)
    values[10 : 10 + 7 * len(others) : 7] = others
    assert values[find_freaks(values)].tolist() == freaks
