"""Networks on series and texts that are no transformers, as small as they come."""

from functools import partial
from typing import Any

import torch

from cutaway.models import DeepAR, Forecaster, SeriesDensity, SeriesWindow
from cutaway.models.forecasting.likelihood_model import LIKELIHOODS, PredictiveModel
from cutaway.models.forecasting.linear_expert import fit_local
from cutaway.models.sequences.tagger import Tagger, TaggerInput
from cutaway.models.sequences.text_classifier import TextClassifier
from cutaway.registry import register

FORECAST: dict[str, Any] = dict(
    lags=(1, 2, 4, 5), seasons=(4,), context=3, horizon=2, covariates=2, static=(3,), width=8, depth=1, dropout=0.0
)


def series(model: PredictiveModel, factor: float = 1.0) -> SeriesWindow:
    """Two series of noise around a level; with ``factor`` 0 they stand still."""
    values = 3 + factor * torch.randn(2, model.spec.past + 5)
    local = torch.stack([fit_local(row, model.spec.lags) for row in values]).to(values.dtype)
    return SeriesWindow(values, local, torch.randn(2, 5, 2), torch.randint(3, (2, 1)))


def forecasting(family: type[PredictiveModel], factor: float = 1.0, **changes: Any) -> tuple[Any, ...]:
    """A model and its series; its output map is no longer at its start, where it has no slope."""
    model = family(**FORECAST | changes)
    torch.nn.init.normal_(model.out.weight, 0, 0.1)
    return model, series(model, factor)


for family in (DeepAR, Forecaster):
    for likelihood in LIKELIHOODS:
        register(
            family,
            name=f"{family.__name__} ({likelihood})",
            example=partial(forecasting, family, likelihood=likelihood),
            extreme=partial(forecasting, family, 0.0, likelihood=likelihood),
            kinks="absolute errors bend at 0, and constants of a series are not free",
        )


def density() -> tuple[Any, ...]:
    """The light model of the next value; its second layer is no longer at its start, where it is 0."""
    model = SeriesDensity(lags=(1, 2, 7), calendar=4, width=5)
    torch.nn.init.normal_(model.second.weight)
    return model, torch.randn(3, 7)


register(SeriesDensity, example=density)


def sentences() -> TaggerInput:
    """Two sentences, of five and three words, with four different spellings of up to five letters."""
    letters = torch.randint(1, 7, (4, 5))
    letters[0, 3:] = 0
    return TaggerInput(
        torch.randint(0, 11, (2, 5)),
        torch.tensor([[0, 1, 2, 3, 0], [3, 2, 1, 0, 0]]),
        letters,
        torch.randint(0, 7, (4, 8)),
        torch.randint(0, 3, (4,)),
        torch.randint(0, 5, (4,)),
        torch.tensor([5, 3]),
    )


SIZES_OF_TAGGER: dict[str, Any] = dict(
    tags=3, words=11, characters=7, affixes=7, shapes=3, word_width=3, letter_width=2, width=4
)
register(
    Tagger,
    example=lambda: (
        Tagger(**SIZES_OF_TAGGER, vectors=5, vector_width=2, filters=3, affix_width=2, dropout=0.0),
        sentences(),
    ),
    kinks="the largest of the letters' values jumps from letter to letter, and ReLU bends at 0",
)


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """Two texts, the second padded, and their n-grams; every word and n-gram occurs."""
    tokens = torch.tensor([[2, 3, 4, 5, 6, 7, 8], [9, 10, 1, 0, 0, 0, 0]])
    return tokens, torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])


def classifier(reader: str, **more: Any) -> TextClassifier:
    sizes: dict[str, Any] = dict(
        classes=3, vocabulary=11, features=7, vector_width=4, width=6, kernels=(2, 3), heads=3, dropout=0.0
    )
    return TextClassifier(reader=reader, **sizes | more)


register(TextClassifier, example=lambda: (classifier("cnn", readers=2), *texts()), kinks="ReLU and the maximum bend")
register(
    TextClassifier,
    name="TextClassifier (rnn)",
    example=lambda: (classifier("rnn"), *texts()),
    kinks="the maximum bends",
)
register(
    TextClassifier,
    name="TextClassifier (transformer)",
    example=lambda: (classifier("transformer"), *texts()),
    kinks="the maximum bends",
)
register(TextClassifier, name="TextClassifier (linear)", example=lambda: (classifier("none"), *texts()))
