"""Models without memory for their weights, and their sizes counted before they are built."""

import pytest
import torch
from torch import nn

from cutaway.hub.empty_models import expect_sizes, without_weights
from cutaway.models import from_spec
from cutaway.models.specs.architectures import GPTSpec, T5Spec
from cutaway.models.tables import TableNetSpec

GPT2 = GPTSpec.gpt2(vocabulary=61, width=12, depth=3, heads=2, context=7)


def test_nothing_is_drawn_and_nothing_has_memory():
    before = torch.random.get_rng_state()
    with without_weights():
        model = from_spec(GPT2)
    assert all(weight.is_meta for weight in model.parameters())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not nn.Linear(2, 2).weight.is_meta  # outside, as ever


def test_a_model_fits_its_own_tensors():
    for spec in (GPT2, T5Spec.t5(vocabulary=61, width=12, depth=3, heads=2), TableNetSpec("binary", numbers=3)):
        with without_weights():
            model = from_spec(spec)
        expect_sizes(spec, [tuple(x.shape) for x in model.state_dict().values()])


def test_sizes_that_the_file_does_not_have():
    with pytest.raises(ValueError, match="got 3 layers and a file of 2 tensors; the folder mixes two models"):
        expect_sizes(GPT2, [(12, 12), (61, 12)])
    with pytest.raises(ValueError, match="got 12 and axes of at most 11; the folder mixes two models"):
        expect_sizes(GPT2, [(11, 11), (11,), ()])
    with pytest.raises(ValueError, match="got 3 layers and a file of 0 tensors"):
        expect_sizes(GPT2, [])


@pytest.mark.parametrize("vocabulary", [1 << 62, 10**20])
def test_sizes_that_no_computer_counts(vocabulary: int):
    with pytest.raises(ValueError, match="config\\.json must state sizes"), without_weights():
        from_spec(GPT2.but(vocabulary=vocabulary))


def test_other_errors_are_left_as_they_are():
    with pytest.raises(TypeError, match="unsupported operand"), without_weights():
        raise TypeError("unsupported operand")
