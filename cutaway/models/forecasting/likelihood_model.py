r"""DeepAR's likelihood: a distribution of the next value, given those before it, and paths drawn from it.

    p(y_{1:T}) = Π_t p(y_t | y_{<t}, covariates)                    the product rule
    h_t = network(x_t, h_{<t})                                      x_t: lags, running scales, calendar, covariates
    location  μ_t = Σ_k w_k c_k + u · o_μ,   w = softmax(o_w)       candidates c: lags, seasonal steps, levels, expert
    scale     σ_t = u · exp(o_σ)                                    u: the mean error of the series' linear expert
    paths     y_{t+1} ~ p(· | y_{≤t}),  y_{t+2} ~ p(· | y_{≤t+1}) … each drawn value is fed back (ancestral sampling)
              stretched about their median by a factor for each step, 1 unless they were calibrated

The simple forecasts are inside: w on lag 1 is the random walk, on lag m the seasonal naive, on the expert the linear
model on lags, and a network that knows nothing starts there. Salinas et al. 2020 (DeepAR): likelihoods, scaling by mean
|y|, lags and covariates as inputs, sample paths. The mixture of candidates and the running scales are ours.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.depth.dropouts import fast_dropout
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.likelihoods.gaussian import Gaussian
from cutaway.blocks.likelihoods.negative_binomial import NegativeBinomial
from cutaway.blocks.likelihoods.student_t import StudentT
from cutaway.inside.taps import Tap
from cutaway.models.base import Model
from cutaway.models.forecasting.linear_expert import Local, carry_forward, expert_forecast, local_width
from cutaway.models.forecasting.running_scales import (
    BURN,
    ERRORS,
    LEVELS,
    STEPS,
    TRENDS,
    Running,
    observations,
    running,
)
from cutaway.models.forecasting.series_windows import SeriesWindow
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override

Likelihood = Gaussian | StudentT | NegativeBinomial
LIKELIHOODS = ("student-t", "gaussian", "negative-binomial")
SUPPORTS = ("real", "nonnegative", "counts", "unit", "own")  # own: each series by its own values
_SHARPNESS = 3.0  # of the mixture: how fast its weights learn, beside other outputs
_EXPERT = 1.5  # the expert's logit at the start: most of the mixture
_LEAST = 0.02  # of running scales, in units
_AT_ONCE = 20_000  # paths drawn side by side


@dataclass(frozen=True)
class ForecastSpec(NamedSpec):
    """What a forecaster reads and what it puts out. Families add their network."""

    lags: tuple[int, ...] = (1, 2, 3)  # steps back, from 1 up; with each season m also m + 1
    seasons: tuple[int, ...] = ()
    expert_lags: tuple[int, ...] = ()  # those that the linear expert has a coefficient for; (): all
    context: int = 24  # steps read before the first forecast
    horizon: int = 12  # steps of the usual forecast; any number can be asked for
    likelihood: str = "student-t"
    covariates: int = 0  # of every step: calendar, age, known ahead
    static: tuple[int, ...] = ()  # ids of each category that holds for a whole series
    embedding: int = 4  # width of a category's vector
    width: int = 48
    depth: int = 2
    dropout: float = 0.1
    windowed: bool = False  # whether scale and age are of the window that is read; else of the whole history
    lengths: tuple[int, ...] = ()  # of histories that paths were calibrated for, rising; (): one for all
    typical: float = 0.0  # a usual unit: that of histories of a few values, which do not show their own
    support: str = ""  # what values can be, see `SUPPORTS`; "": it was not looked for

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(context=self.context, horizon=self.horizon, width=self.width, depth=self.depth)
        expect_positive(embedding=self.embedding)
        expect_probability(dropout=self.dropout)
        expect_choice("likelihood", self.likelihood, LIKELIHOODS)
        expect_choice("support", self.support, ("", *SUPPORTS))
        needed = {1, *self.seasons, *(m + 1 for m in self.seasons)}
        if self.lags != tuple(sorted(set(self.lags))) or not needed <= set(self.lags):
            raise ValueError(
                f"lags must rise from 1 and hold each season m and m + 1, got lags={self.lags} for seasons="
                f"{self.seasons}; try lags={tuple(sorted(needed | {lag for lag in self.lags if lag > 0}))}"
            )
        if not set(self.expert_lags) <= set(self.lags):
            raise ValueError(
                f"the expert's lags must be some of lags={self.lags}, got expert_lags={self.expert_lags}; "
                f"try expert_lags={tuple(lag for lag in self.expert_lags if lag in self.lags)}"
            )

    @property
    def past(self) -> int:
        """Values that a window holds before its first modelled step."""
        return self.lags[-1] + BURN

    @property
    def reads(self) -> int:
        """Values that are read before the first forecast, those of lags and running scales included."""
        return self.past + self.context

    @property
    def candidates(self) -> int:
        """Locations that are mixed: lags, seasonal steps, levels, the trend, the expert."""
        return len(self.lags) + len(self.seasons) + len(LEVELS) + len(TRENDS) + 1

    @property
    def inputs(self) -> int:
        """The width of what the network reads at a step."""
        scales = len(ERRORS) + len(STEPS) + 1
        return self.candidates + scales + 3 + self.covariates + self.embedding * len(self.static)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class Reading(NamedTuple):
    """What is known before a step: the network's input, and the candidates that its location is mixed of."""

    inputs: Float[Tensor, "*b i"]
    candidates: Float[Tensor, "k *b"]
    available: Bool[Tensor, "k *b"]
    expert: Float[Tensor, "*b"]


class _Scan(NamedTuple):
    z: Tensor  # values in the scale of their series, missing ones filled
    begun: Tensor  # whether the series has begun
    lagged: Tensor  # from BURN steps before the first modelled one on: values at the lags (l, b, n),
    available: Tensor  # whether they are there,
    expert: Tensor  # the linear expert's forecasts,
    new: Tensor  # what each step adds to the running scales,
    counted: Tensor  # and whether it counts


class PredictiveModel(Model):
    """A forecaster; families define the ``network``: ``hidden``, its state, and one step.

    ``model(window)`` gives the distributions of the modelled steps, in the units of the values. Taps: ``inputs``,
    ``mixture`` (weights of the candidates), ``location``, ``scale`` (in the series' own scale).
    """

    spec: Any
    covariate_mean: Tensor
    covariate_spread: Tensor
    widening: Tensor

    def __init__(self, spec: ForecastSpec) -> None:
        super().__init__(spec)
        self.embeddings = nn.ModuleList(Embedding(count, spec.embedding) for count in spec.static)
        self.out = Linear(spec.width + spec.inputs, spec.candidates + 3)
        self.register_buffer("covariate_mean", torch.zeros(spec.covariates))
        self.register_buffer("covariate_spread", torch.ones(spec.covariates))
        self.register_buffer("widening", torch.ones(*[len(spec.lengths)] * bool(spec.lengths), spec.horizon))
        self.inputs, self.mixture, self.location, self.scale = Tap(), Tap(), Tap(), Tap()

    def standardise(self, covariates: Float[Tensor, "n c"]) -> None:
        """Takes mean and spread of the covariates from some of them; the model keeps both among its weights."""
        self.covariate_mean.copy_(covariates.mean(0))
        spread = covariates.std(0, unbiased=False)
        self.covariate_spread.copy_(torch.where(spread > 0, spread, 1.0))

    def reset_output(self) -> None:
        """The output starts at the linear expert with its mean error, whatever the network says."""
        assert self.out.bias is not None
        with torch.no_grad():
            self.out.weight.zero_()
            self.out.bias.zero_()
            self.out.bias[self.spec.candidates - 1] = _EXPERT

    # What a family defines ------------------------------------------------------------------------------------------

    def network(self, x: Float[Tensor, "b t i"]) -> tuple[Float[Tensor, "b t w"], Any]:
        """Hidden states of all steps, and the state after the last."""
        raise TypeError(f"{type(self).__name__} must define network")

    def network_step(self, x: Float[Tensor, "b i"], state: Any) -> tuple[Float[Tensor, "b w"], Any]:
        """The hidden state of one more step, and the state after it."""
        raise TypeError(f"{type(self).__name__} must define network_step")

    def fork_state(self, state: Any, copies: int, steps: int) -> Any:
        """The state with each row several times, with room for ``steps`` more steps."""
        raise TypeError(f"{type(self).__name__} must define fork_state")

    # ----------------------------------------------------------------------------------------------------------------

    @override
    def forward(self, window: SeriesWindow) -> Likelihood:
        """The distribution of every modelled step, given the values before it."""
        reading = self.read(window)
        h, _ = self.network(reading.inputs)
        return self.distribution(h, reading, Local.of(window.local[:, None]))

    def log_likelihood(self, window: SeriesWindow) -> Float[Tensor, "b m"]:
        """log p(y_t | y_{<t}) of every modelled step; NaN where the value is missing."""
        y = modelled_values(window)
        found = self(window).log_density(y.nan_to_num(0.0))
        return torch.where(y.isnan(), torch.nan, found)

    def cdf(self, window: SeriesWindow) -> Float[Tensor, "b m"]:
        """P(Y_t ≤ y_t | y_{<t}): uniform on 0–1 if the model is calibrated; NaN where the value is missing."""
        y = modelled_values(window)
        found = self(window).cdf(y.nan_to_num(0.0))
        return torch.where(y.isnan(), torch.nan, found)

    def read(self, window: SeriesWindow) -> Reading:
        """What the network reads at every modelled step of a window."""
        self._expect_window(window)
        steps = window.covariates.shape[1]
        seen = self._scan(window)
        sums = running(seen.new, seen.counted, steps)
        x = self._covariates(window.covariates, window.static)
        missing = window.values[:, -steps - 1 : -1].isnan().to(x.dtype)
        lagged, available, expert = (part[..., BURN:] for part in (seen.lagged, seen.available, seen.expert))
        return self._reading(lagged, available, expert, sums, missing, x, Local.of(window.local[:, None]))

    def _scan(self, window: SeriesWindow) -> "_Scan":
        """The values of a window in their scale, and what each of its last steps adds to the running scales."""
        there = ~window.values.isnan()
        begun = there.cummax(1).values
        z = carry_forward(window.values) / window.local[:, :1]
        n = z.shape[1]
        first = n - window.covariates.shape[1] - BURN  # where running scales begin
        lagged, available = (torch.stack([x[:, first - l : n - l] for l in self.spec.lags]) for x in (z, begun))
        expert = expert_forecast(lagged, available, Local.of(window.local[:, None]))
        now, before = z[:, first:], lagged[0]
        counted = (there[:, first:] & available[0]).to(z.dtype)
        return _Scan(z, begun, lagged, available, expert, observations(now - expert, now - before, now), counted)

    def _covariates(self, covariates: Tensor, static: Tensor) -> Tensor:
        covariates = (covariates - self.covariate_mean) / self.covariate_spread
        vectors = [table(static[:, None, j]) for j, table in enumerate(self.embeddings)]
        return torch.cat([covariates, *(v.expand(-1, covariates.shape[1], -1) for v in vectors)], -1)

    def _reading(
        self,
        lagged: Tensor,
        available: Tensor,
        expert: Tensor,
        sums: Running,
        missing: Tensor,
        covariates: Tensor,
        local: Local,
    ) -> Reading:
        # Features are the first axis until the network reads them: whole rows are computed at once.
        lags, unit, before = self.spec.lags, local.unit, lagged[0]
        spread, zero = unit.expand_as(before), torch.zeros_like(before)
        priors = [spread] * (len(ERRORS) + len(STEPS)) + [zero] * len(TRENDS) + [before] * len(LEVELS)
        means = sums.values(torch.stack(priors))
        scales, trend, levels = means.split([len(ERRORS) + len(STEPS), len(TRENDS), len(LEVELS)])
        m = [lags.index(season) for season in self.spec.seasons]
        after = [lags.index(season + 1) for season in self.spec.seasons]
        seasonal = before + lagged[m] - lagged[after]
        sure = torch.ones_like(available[:1]).expand(len(LEVELS) + len(TRENDS) + 1, *before.shape)
        candidates = torch.cat([lagged, seasonal, levels, before + trend, expert[None]])
        usable = torch.cat([available, available[after], sure])
        candidates = torch.where(usable, candidates, before)
        features = torch.cat(
            [
                torch.asinh((candidates - before) / unit),
                (scales / unit).clamp(min=_LEAST).log(),
                (local.spread / unit).log().expand_as(before)[None],
                torch.asinh((before - local.mean) / local.spread)[None],
                available[-1:].to(before.dtype),
                missing[None],
            ]
        )
        inputs = torch.cat([features.movedim(0, -1), covariates], -1)
        if self.inputs.live:
            inputs = self.inputs(inputs)
        return Reading(inputs, candidates, usable, expert)

    def distribution(self, h: Float[Tensor, "*b w"], reading: Reading, local: Local) -> Likelihood:
        """The distribution of the value at each step, from the network's hidden state, in the values' own units."""
        spec = self.spec
        if self.training and spec.dropout:
            h = fast_dropout(h, spec.dropout)
        o = self.out(torch.cat([h, reading.inputs], -1)).movedim(-1, 0).contiguous()
        w = (_SHARPNESS * o[: spec.candidates]).masked_fill(~reading.available, -torch.inf).softmax(0)
        if self.mixture.live:
            w = self.mixture(w.movedim(0, -1)).movedim(-1, 0)
        unit = local.unit
        location = (w * reading.candidates).sum(0) + unit * o[-3]
        if self.location.live:
            location = self.location(location)
        scale = unit * o[-2].clamp(-6, 6).exp()
        if self.scale.live:
            scale = self.scale(scale)
        if spec.likelihood == "gaussian":
            return Gaussian(location, scale).scaled(local.scale)
        if spec.likelihood == "student-t":
            freedom = 2 + nn.functional.softplus(o[-1] + 2)
            return StudentT(location, scale, freedom).scaled(local.scale)
        mean = unit * nn.functional.softplus(location / unit)  # above 0
        return NegativeBinomial(mean, (scale / local.spread) * nn.functional.softplus(o[-1])).scaled(local.scale)

    @torch.no_grad()
    def sample_paths(
        self,
        window: SeriesWindow,
        horizon: int,
        samples: int = 100,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "b samples horizon"]:
        """Paths of the next ``horizon`` values of each series, drawn one value after the other.

        The covariates of the window go on for ``horizon`` steps beyond its values. Paths stay within the range of
        the series' history, widened by its own width on both sides, so that none runs away.
        """
        expect_positive(horizon=horizon, samples=samples)
        each = max(1, _AT_ONCE // samples)
        parts = [
            self._paths(SeriesWindow(*(part[i : i + each] for part in window)), horizon, samples, generator)
            for i in range(0, len(window.values), each)
        ]
        if not parts:
            return window.values.new_zeros(0, samples, horizon)
        return self._widened(torch.cat(parts), history_lengths(window.values))

    def _widened(
        self, paths: Float[Tensor, "b samples horizon"], lengths: Int[Tensor, "b"]
    ) -> Float[Tensor, "b samples horizon"]:
        """Paths stretched about their median by what calibration found for each step; counts stay as they are."""
        if self.spec.likelihood == "negative-binomial" or bool((self.widening == 1).all()):
            return paths
        steps = torch.arange(paths.shape[-1], device=paths.device).clamp(max=self.spec.horizon - 1)
        middle = paths.median(1, keepdim=True).values
        return middle + self._factors(lengths)[:, None, steps] * (paths - middle)

    def _factors(self, lengths: Int[Tensor, "b"]) -> Float[Tensor, "b horizon"]:
        """The widening of histories of these lengths: straight lines in log length, between those calibrated for."""
        if not self.spec.lengths:
            return self.widening.expand(len(lengths), -1)
        known = torch.tensor(self.spec.lengths, dtype=torch.float32, device=lengths.device).log()
        x = lengths.clamp(min=1).float().log().clamp(known[0], known[-1])
        above = torch.searchsorted(known, x.contiguous()).clamp(1, max(len(known) - 1, 1)).clamp(max=len(known) - 1)
        below = (above - 1).clamp(min=0)
        share = ((x - known[below]) / (known[above] - known[below]).clamp(min=1e-6))[:, None]
        return self.widening[below] * (1 - share) + self.widening[above] * share

    def _paths(self, window: SeriesWindow, horizon: int, samples: int, generator: torch.Generator | None) -> Tensor:
        ahead = window.covariates[:, -horizon:]
        past = window._replace(covariates=window.covariates[:, :-horizon])
        _, state = self.network(self.read(past).inputs)
        state = self.fork_state(state, samples, horizon)
        many = lambda x: x.repeat_interleave(samples, 0)
        local = Local.of(many(window.local))
        seen, reach = self._scan(past), self.spec.lags[-1]
        room_for = nn.functional.pad
        # time is the first axis of what was drawn so far: the values at the lags are whole rows
        z = room_for(many(seen.z[:, -reach:]).T, (0, 0, 0, horizon))
        begun = room_for(many(seen.begun[:, -reach:]).T, (0, 0, 0, horizon), value=True)
        # one more step, of which nothing is known yet: the sums before it are those after the last value
        after = running(room_for(seen.new, (0, 1)), room_for(seen.counted, (0, 1)), 1)
        sums = Running(*(part[..., 0].repeat_interleave(samples, 1) for part in after))
        x = many(self._covariates(ahead, window.static))
        missing = many(past.values[:, -1].isnan().to(z.dtype))
        lags = torch.tensor(self.spec.lags, device=z.device)
        lowest, highest = self._bounds(local)
        for t in range(horizon):
            at = reach + t - lags
            lagged, here = z[at], begun[at]
            expert = expert_forecast(lagged, here, local)
            reading = self._reading(lagged, here, expert, sums, missing, x[:, t], local)
            h, state = self.network_step(reading.inputs, state)
            y = self.distribution(h, reading, local).sample(generator)
            drawn = torch.minimum(torch.maximum(y, lowest), highest) / local.scale
            z[reach + t] = drawn
            sums = sums.extended(observations(drawn - expert, drawn - lagged[0], drawn))
            missing = torch.zeros_like(missing)
        paths = z[reach:].T * local.scale[:, None]
        return paths.reshape(-1, samples, horizon)

    def _bounds(self, local: Local) -> tuple[Tensor, Tensor]:
        """How low and how high a path may go; whole numbers from 0 up for counts."""
        room = local.high - local.low + 10 * local.unit
        lowest, highest = (local.low - room) * local.scale, (local.high + room) * local.scale
        if self.spec.likelihood == "negative-binomial":
            return lowest.clamp(min=0).floor(), highest.ceil()
        return lowest, highest

    def _expect_window(self, window: SeriesWindow) -> None:
        spec, steps = self.spec, window.covariates.shape[1]
        if window.values.shape[1] != spec.past + steps:
            raise ValueError(
                f"a window holds {spec.past} values before its {steps} modelled steps, got "
                f"{window.values.shape[1]} values; pad the beginning of short series with NaN"
            )
        if window.local.shape[1] != local_width(spec.lags) or window.covariates.shape[2] != spec.covariates:
            raise ValueError(
                f"a window needs {local_width(spec.lags)} constants a series and {spec.covariates} covariates a step, "
                f"got {window.local.shape[1]} and {window.covariates.shape[2]}; fit_local makes the constants"
            )


def history_lengths(values: Float[Tensor, "b n"]) -> Int[Tensor, "b"]:
    """How many steps ago each series began, or as many as there are."""
    return (~values.isnan()).cummax(1).values.sum(1)


def modelled_values(window: SeriesWindow) -> Float[Tensor, "b m"]:
    """The values of the modelled steps."""
    return window.values[:, window.values.shape[1] - window.covariates.shape[1] :]
