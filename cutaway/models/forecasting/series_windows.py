r"""A window of some series: what a forecaster reads, one row a series.

    values        ……………… past ………………|—— modelled steps ——|
    covariates                       |—— modelled steps ——|—— horizon ——

The model predicts the modelled steps one by one from all values before each of them. To go on beyond the last value it
is given the covariates of the steps to come.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class SeriesWindow(NamedTuple):
    """``values`` are NaN where they are missing, and before a series begins.

    ``local`` has the constants of each series (`linear_expert.fit_local`), ``covariates`` those of the modelled steps:
    calendar, age, and what is known ahead. ``static`` are category ids that hold for a whole series.
    """

    values: Float[Tensor, "b n"]
    local: Float[Tensor, "b p"]
    covariates: Float[Tensor, "b m c"]
    static: Int[Tensor, "b k"]

    def to(self, device: torch.device | str) -> "SeriesWindow":
        """The same window on a device."""
        return SeriesWindow(*(part.to(device) for part in self))
