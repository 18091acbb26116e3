"""Whole models, as small as they come; one entry for each design that takes another way through the code."""

from functools import partial
from typing import Any

import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.catalogue.generative import stirred
from cutaway.models import (
    BERT,
    CNN,
    GPT,
    T5,
    VAE,
    Autoencoder,
    BERTSpec,
    CNNSpec,
    CodeClassifier,
    ContrastiveEncoder,
    DeepAR,
    Diffusion,
    Forecaster,
    GPTSpec,
    GraphEncoder,
    GraphPredictor,
    HeadSpec,
    LinkScorer,
    MaskedViT,
    MaskedViTSpec,
    PositionSpec,
    SeriesDensity,
    SeriesWindow,
    Transformer,
    VertexClassifier,
    ViT,
    ViTSpec,
)
from cutaway.models.cells import CellNet
from cutaway.models.forecasting.linear_expert import fit_local
from cutaway.models.forecasting.predictive import LIKELIHOODS, PredictiveModel
from cutaway.models.sequences.tagger import Tagger, TaggerInput
from cutaway.models.sequences.text_classifier import TextClassifier
from cutaway.models.siamese import Siamese
from cutaway.models.tables import TableNet
from cutaway.registry import register

SIZES: dict[str, Any] = dict(vocabulary=11, width=6, depth=1, heads=3, context=7)


def tokens(length: int = 5) -> torch.Tensor:
    return torch.randint(0, 11, (2, length))


def padding() -> torch.Tensor:
    return torch.tensor([[True] * 5, [False, False, True, True, True]])


def bert(head: HeadSpec | None) -> BERT:
    return BERT(BERTSpec.bert(**SIZES, head=head))


def gpt(**changes: Any) -> GPT:
    return GPT(GPTSpec.gpt2(**SIZES).but(**changes))


def cnn(design: str) -> tuple[Any, ...]:
    """A network and its images; gains of residual branches are no longer at their start, where they are 0."""
    model = CNN(classes=5, channels=2, design=design, width=6, squares=2, activation="silu")
    for name, parameter in model.named_parameters():
        if name.endswith("second.norm.weight"):
            torch.nn.init.ones_(parameter)
    return model, torch.rand(3, 2, 9, 8)


register(GPT, example=lambda: (GPT(**SIZES | dict(depth=2)), tokens()))
register(GPT, name="GPT (Llama)", example=lambda: (GPT.llama(**SIZES, kv_heads=1, hidden=5), tokens(), padding()))
register(GPT, name="GPT (quick)", example=lambda: (GPT(GPTSpec.quick(**SIZES)), tokens()), kinks="ReLU² bends at 0")
register(
    GPT,
    name="GPT (packed)",
    example=lambda: (gpt(position=PositionSpec("sinusoidal")), tokens(), None, torch.tensor([[0, 0, 1, 1, 1]] * 2)),
)
register(
    GPT,
    name="GPT (ALiBi)",
    example=lambda: (gpt(position=PositionSpec("alibi"), order="parallel", head__tied=False), tokens()),
)
register(
    GPT,
    name="GPT (classes)",
    example=lambda: (gpt(head=HeadSpec("classes", classes=5), attention__window=2, order="post"), tokens(), padding()),
)
register(BERT, example=lambda: (bert(None), tokens(), torch.tensor([[0, 0, 1, 1, 1]] * 2)))
register(BERT, name="BERT (masked)", example=lambda: (bert(HeadSpec("masked")), tokens(), None, padding()))
register(
    BERT,
    name="BERT (classes)",
    example=lambda: (bert(HeadSpec("classes", classes=5, hidden=True, pooling="attention")), tokens(), None, padding()),
)
register(BERT, name="BERT (tags)", example=lambda: (bert(HeadSpec("tags", classes=5)), tokens()))
register(
    Transformer,
    example=lambda: (Transformer(**SIZES, dropout=0.0), tokens(), tokens(3)),
    kinks="ReLU bends at 0",
)
register(
    T5,
    example=lambda: (
        T5(vocabulary=11, width=6, depth=1, heads=3, head_width=5, gated=True),
        tokens(),
        tokens(3),
        padding(),
    ),
)
register(
    ViT,
    example=lambda: (ViT(image=6, patch=3, channels=2, width=6, depth=1, heads=3, classes=5), torch.randn(2, 2, 6, 6)),
)
_HEADLESS = ViTSpec.vit(image=6, patch=3, channels=2, width=6, depth=1, heads=3)
register(
    MaskedViT,
    example=lambda: (
        MaskedViT(MaskedViTSpec(_HEADLESS, width=6, heads=2)),
        torch.randn(2, 2, 6, 6),
        torch.tensor([[0, 3], [1, 2]]),
    ),
)
register(
    CodeClassifier,
    example=lambda: (CodeClassifier(image=(4, 4), channels=2, width=6, codes=3, classes=5), torch.rand(2, 2, 4, 4)),
)
register(
    ContrastiveEncoder,
    name="ContrastiveEncoder (vit)",
    example=lambda: (ContrastiveEncoder(vit=_HEADLESS, hidden=7, projected=5), torch.randn(2, 2, 6, 6)),
)
register(
    ContrastiveEncoder,
    name="ContrastiveEncoder (cnn)",
    example=lambda: (
        ContrastiveEncoder(
            cnn=CNNSpec(classes=0, channels=2, width=6, activation="silu", norm="none"), hidden=7, projected=5
        ),
        torch.randn(2, 2, 8, 8),
    ),
    kinks="max pooling and ReLU",
)
register(
    ViT,
    name="ViT (scaled)",
    example=lambda: (
        ViT(ViTSpec.vit(image=6, patch=3, channels=2, width=6, depth=1, heads=3, classes=5).but(scaled=True)),
        torch.rand(2, 2, 6, 6),
    ),
)
for design in ("plain", "residual", "separable"):
    register(
        CNN,
        name=f"CNN ({design})",
        example=partial(cnn, design),
        kinks="ReLU and the maximum bend",
    )


def ring() -> Graph:
    """Five vertices in a ring, with features and weights of both signs."""
    edges = torch.stack([torch.arange(5), (torch.arange(5) + 1) % 5])
    return Graph(edges, weights=torch.tensor([1.0, -1.0, 2.0, 0.5, -0.5]), x=torch.randn(5, 3))


def vertex_classifier(layer: str) -> tuple[Any, ...]:
    model = VertexClassifier(inputs=5, classes=2, layer=layer, width=4, heads=2, activation="tanh")
    return model, Graph(ring().edges, x=torch.randn(5, 5))


register(
    GraphPredictor,
    example=lambda: (
        GraphPredictor(task="multi-class", outputs=3, inputs=3, layer="gin", width=4, norm="layer", readout="mean"),
        Graph(ring().edges, x=torch.randn(5, 3)),
    ),
    kinks="ReLU bends",
)
register(
    GraphEncoder,
    example=lambda: (
        GraphEncoder(inputs=3, width=4, purpose="vertices", outputs=2, activation="tanh"),
        Graph(ring().edges, x=torch.randn(5, 3)),
        torch.tensor([True, False, False, True, False]),
    ),
)
for layer in ("gcn", "gat", "gin", "notes", "chebyshev", "gated", "fixed-point", "transformer"):
    register(
        VertexClassifier,
        name=f"VertexClassifier ({layer})",
        example=partial(vertex_classifier, layer),
        kinks="ReLU bends" if layer in ("gat", "gin", "transformer") else "",
    )
register(
    LinkScorer,
    example=lambda: (
        LinkScorer(inputs=3, width=4, activation="tanh", signed=True),
        ring(),
        torch.tensor([[0, 1, 2], [2, 3, 0]]),
    ),
    kinks="|u − v| bends",
)


def ids() -> torch.Tensor:
    return torch.stack([torch.randint(5, (7,)), torch.randint(3, (7,))], -1)


register(
    TableNet,
    example=lambda: (
        TableNet(
            task="multi-class", outputs=3, numbers=2, cardinalities=(5, 3), pieces=(3, 0), width=11, activation="tanh"
        ),
        torch.randn(7, 2),
        ids(),
    ),
)
register(
    TableNet,
    name="TableNet (residual)",
    example=lambda: (
        TableNet(
            task="regression",
            outputs=2,
            cardinalities=(5, 3),
            width=11,
            depth=3,
            embedding=0,
            activation="silu",
            norm="layer",
            residual=True,
        ),
        torch.randn(7, 0),
        ids(),
    ),
)
register(
    TableNet,
    name="TableNet (batch norm)",
    example=lambda: (TableNet(task="binary", numbers=2, width=5, activation="gelu", norm="batch"), torch.randn(7, 2)),
)


def table_cells() -> tuple[torch.Tensor, ...]:
    """Five rows of a number, a date with one wave, and two categories, in which every column is hidden once."""
    known = ~torch.eye(5, 4, dtype=torch.bool)
    return torch.rand(5, 4), torch.tensor([[0, 1], [1, 0], [2, 0], [2, 1], [0, 0]]), known


COLUMNS: dict[str, Any] = dict(inputs=(1, 3), bins=(4, 3), cardinalities=(3, 2), pieces=(3, 0), width=7, depth=2)
register(CellNet, example=lambda: (CellNet(**COLUMNS, dropout=0.0), *table_cells()))
register(
    CellNet,
    name="CellNet (binary)",
    example=lambda: (CellNet(**COLUMNS, dropout=0.0, task="binary"), *table_cells()),
)


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


def density() -> tuple[Any, ...]:
    """The light model of the next value; its second layer is no longer at its start, where it is 0."""
    model = SeriesDensity(lags=(1, 2, 7), calendar=4, width=5)
    torch.nn.init.normal_(model.second.weight)
    return model, torch.randn(3, 7)


register(SeriesDensity, example=density)


def images(channels: int = 1) -> torch.Tensor:
    return torch.rand(2, channels, 6, 5)


CODER: dict[str, Any] = dict(image=(6, 5), width=4, depth=1)


def autoencoding(design: str) -> tuple[Any, ...]:
    return stirred(Autoencoder(**CODER, codes=3, design=design)), images()


for design in ("linear", "dense", "conv"):
    register(
        Autoencoder,
        name=f"Autoencoder ({design})",
        example=partial(autoencoding, design),
    )
register(
    Autoencoder,
    name="Autoencoder (binary)",
    example=lambda: (stirred(Autoencoder(**CODER, codes=40, code="binary")), images()),
    kinks="a step, which goes backward as a line",
)
register(VAE, example=lambda: (stirred(VAE(**CODER, latents=3)), images()))
register(
    VAE,
    name="VAE (convolutional, one scale for all)",
    example=lambda: (stirred(VAE(**CODER | dict(channels=3), latents=3, design="conv", shared_scale=True)), images(3)),
)
register(
    Diffusion,
    example=lambda: (
        stirred(Diffusion(image=(6, 5), classes=3, width=4, condition=4)),
        images(),
        torch.tensor([0.2, 0.9]),
        torch.tensor([0, 3]),
    ),
)
register(
    Diffusion,
    name="Diffusion (without classes)",
    example=lambda: (
        stirred(Diffusion(image=(6, 5), channels=3, width=4, depth=2, stages=1, shuffle=1, condition=4)),
        images(3),
        torch.tensor([0.2, 0.9]),
    ),
)

register(
    Siamese,
    example=lambda: (
        Siamese(image=(8, 8), width=3, stages=2, depth=1, embedding=5),
        torch.rand(3, 1, 8, 8),
    ),
    kinks="ReLU and the maximum bend",
)
