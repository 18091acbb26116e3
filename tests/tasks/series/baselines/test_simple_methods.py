"""The simple methods beside a model: which there are, fitted before the test, the best first."""

import numpy as np

from cutaway.data import read_series
from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods, measure_simple_methods
from cutaway.tasks.series.histories import histories_before


def test_the_best_comes_first():
    table = read_series("city-power")
    histories = histories_before(table, 24, 1)
    methods = fit_simple_methods(table.cut(-24), 24)
    found = measure_simple_methods(methods, histories, 24, table.season)
    names = {row["name"] for row in found}
    assert {"random walk", "seasonal naive"} <= names
    losses = [row["metrics"]["wql"] for row in found]
    assert losses == sorted(losses)
    assert found[0]["name"] != "random walk"  # power has a day
    assert all(np.isfinite(list(row["metrics"].values())).all() for row in found)


def test_a_short_series_without_dates_has_methods_too():
    table = read_series({"a": [1.0, 2, 3, 4, 3, 2, 3, 4, 5, 4]})
    for row in measure_simple_methods(fit_simple_methods(table.cut(-3), 3), histories_before(table, 3, 1), 3, 1):
        assert np.isfinite(row["metrics"]["wql"]), row["name"]


def test_a_linear_model_of_each_series_or_of_all_by_trials_before_the_test():
    rng = np.random.default_rng(0)
    # two series that follow opposite rules: one model for both knows neither
    up, down = np.zeros(300), np.zeros(300)
    for t in range(1, 300):
        up[t] = 0.9 * up[t - 1] + rng.normal()
        down[t] = -0.9 * down[t - 1] + rng.normal()
    table = read_series({"up": up, "down": down})
    rules = {method.name: method.rule for method in fit_simple_methods(table.cut(-5), 5)}
    assert "each series alone" in rules["linear on lags"]
    # many short series that follow one rule: too little in each to learn it
    short = {f"s{i}": 10 + np.sin(2 * np.pi * (np.arange(40) + 7 * i) / 11) for i in range(30)}
    rules = {method.name: method.rule for method in fit_simple_methods(read_series(short).cut(-5), 5)}
    assert "one for all series" in rules["linear on lags"]
