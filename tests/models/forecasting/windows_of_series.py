"""Windows of made-up series for the tests of forecasters."""

import torch

from cutaway.models.forecasting.likelihood_model import PredictiveModel
from cutaway.models.forecasting.linear_expert import fit_local
from cutaway.models.forecasting.series_windows import SeriesWindow

SIZES = {"lags": (1, 2, 4, 5), "seasons": (4,), "context": 6, "horizon": 3, "covariates": 2, "static": (3,), "width": 8}


def window(model: PredictiveModel, steps: int | None = None, rows: int = 3, counts: bool = False) -> SeriesWindow:
    """Seasonal series of different sizes; whole numbers if ``counts``."""
    spec = model.spec
    steps = spec.context + spec.horizon if steps is None else steps
    torch.manual_seed(3)
    t = torch.arange(spec.past + steps)
    season = torch.sin(2 * torch.pi * t / 4) + 3 + 0.3 * torch.randn(rows, len(t))
    values = season * torch.tensor([1.0, 20.0, 300.0])[:rows, None]
    values = values.round().clamp(min=0) if counts else values
    local = torch.stack([fit_local(row, spec.lags) for row in values]).to(values.dtype)
    covariates = torch.randn(rows, steps, spec.covariates)
    static = torch.randint(3, (rows, len(spec.static)))
    like = next(model.parameters())
    return SeriesWindow(values.to(like.dtype), local.to(like.dtype), covariates.to(like.dtype), static)
