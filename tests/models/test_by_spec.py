"""Models by their specs, whichever kind it is."""

import json

import pytest
import torch

from cutaway.models import BERT, GPT, T5, Transformer, ViT, from_spec, spec_from_dict

SIZES = dict(width=12, depth=1, heads=3)
TOKENS = torch.tensor([[1, 2, 3]])
EXAMPLES = [
    (GPT(vocabulary=11, context=7, **SIZES), (TOKENS,)),
    (BERT(vocabulary=11, context=7, **SIZES), (TOKENS,)),
    (T5(vocabulary=11, **SIZES), (TOKENS, TOKENS)),
    (Transformer(vocabulary=11, dropout=0.0, **SIZES), (TOKENS, TOKENS)),
    (ViT(image=8, patch=4, classes=5, **SIZES), (torch.randn(1, 3, 8, 8),)),
]


@pytest.mark.parametrize(("model", "inputs"), EXAMPLES, ids=lambda x: type(x).__name__)
def test_a_model_is_its_spec_and_its_tensors(model, inputs):
    """What a run folder keeps: the spec as JSON and the state dict."""
    told = json.loads(json.dumps(model.spec.to_dict()))
    with torch.device("meta"):
        again = from_spec(spec_from_dict(told))
    again.load_state_dict(model.state_dict(), assign=True)
    assert type(again) is type(model)
    assert torch.equal(again(*inputs), model(*inputs))


def test_names_that_no_model_has():
    with pytest.raises(ValueError, match=r"must name its model, one of GPT, BERT, .*, got None; to_dict"):
        spec_from_dict({})
