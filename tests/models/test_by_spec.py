"""Models by their specs, whichever kind it is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from cutaway.models import BERT, GPT, T5, Model, NamedSpec, TableNet, Transformer, ViT, from_spec, spec_from_dict

SIZES = dict(width=12, depth=1, heads=3)
TOKENS = torch.tensor([[1, 2, 3]])
EXAMPLES = [
    (GPT(vocabulary=11, context=7, **SIZES), (TOKENS,)),
    (BERT(vocabulary=11, context=7, **SIZES), (TOKENS,)),
    (T5(vocabulary=11, **SIZES), (TOKENS, TOKENS)),
    (Transformer(vocabulary=11, dropout=0.0, **SIZES), (TOKENS, TOKENS)),
    (ViT(image=8, patch=4, classes=5, **SIZES), (torch.randn(1, 3, 8, 8),)),
    (
        TableNet(task="binary", numbers=2, cardinalities=(4,)),
        (torch.randn(5, 2), torch.tensor([[1], [3], [0], [2], [1]])),
    ),
]


@pytest.fixture(autouse=True)
def _known_as_before() -> Iterator[None]:
    before = dict(NamedSpec.known)
    yield
    NamedSpec.known.clear()
    NamedSpec.known.update(before)


@pytest.mark.parametrize(("model", "inputs"), EXAMPLES, ids=lambda x: type(x).__name__)
def test_a_model_is_its_spec_and_its_tensors(model, inputs):
    """What a run folder keeps: the spec as JSON and the state dict."""
    stored = json.loads(json.dumps(model.spec.to_dict()))
    with torch.device("meta"):
        again = from_spec(spec_from_dict(stored))
    again.load_state_dict(model.state_dict(), assign=True)
    assert type(again) is type(model)
    assert torch.equal(again(*inputs), model(*inputs))


def define(name: str = "Scaled"):
    """A model and its spec, as someone else would write them."""

    @dataclass(frozen=True)
    class ScaledSpec(NamedSpec):
        model: ClassVar[str] = name
        width: int = 3

    class Scaled(Model):
        kind: ClassVar[type[NamedSpec]] = ScaledSpec

        def __init__(self, spec: ScaledSpec) -> None:
            super().__init__(spec)
            self.gain = nn.Parameter(torch.ones(spec.width))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.gain

    return ScaledSpec, Scaled


def test_a_model_of_ones_own_joins_by_its_definition():
    spec, model = define()
    found = from_spec(spec_from_dict({"model": "Scaled", "version": 1, "width": 5}))
    assert type(found) is model
    assert found.spec == spec(width=5)
    _, again = define()  # as when a cell of a notebook runs twice
    assert type(from_spec(spec_from_dict({"model": "Scaled"}))) is again
    assert type(from_spec(GPT.llama(vocabulary=7, context=4, **SIZES).spec)) is GPT

    class Louder(GPT):
        """A subclass without a spec of its own leaves that of its base alone."""

    assert type(from_spec(Louder(vocabulary=7, context=4, **SIZES).spec)) is GPT


def test_names_of_models_are_their_own():
    with pytest.raises(ValueError, match=r"needs a name of its own, got 'GPT', which .*architectures.GPTSpec has; set"):
        define("GPT")
    with pytest.raises(ValueError, match="needs a name of its own, got no name; set `model`"):
        define("")
    with pytest.raises(ValueError, match=r"opened by one model, got .*Second for BERTSpec, which .*BERT opens; give"):

        class Second(Model):
            kind: ClassVar[type[NamedSpec]] = BERT.kind


def test_names_that_no_model_has():
    with pytest.raises(ValueError, match=r"must name its model, one of .*GPT.*TableNet.*, got None; to_dict"):
        spec_from_dict({})
    for damaged in (["GPT"], "GPT", {"model": ["GPT"]}):
        with pytest.raises(ValueError, match=r"must name its model, one of .*, got .*GPT.*; to_dict\(\) writes it"):
            spec_from_dict(damaged)
    with pytest.raises(ValueError, match="a model is built from a spec, got NamedSpec; spec_from_dict reads one"):
        from_spec(NamedSpec())
