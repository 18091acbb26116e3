"""Series in memory for tests of forecasters: weekly waves with a little noise."""

import numpy as np


def sines(count: int = 3, steps: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    t = np.arange(steps)
    return {f"s{i}": 10 * (i + 1) + np.sin(2 * np.pi * t / 7) + 0.1 * rng.standard_normal(steps) for i in range(count)}
