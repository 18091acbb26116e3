"""One pass through somebody's model, and the number that is asked about."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from cutaway.look.language.passes import as_tokens, at_rest, run, score, words_for

LOGITS = torch.arange(12.0).view(1, 3, 4)


def test_scores():
    assert score(LOGITS, 1).tolist() == [9.0]  # at the last position
    assert score(LOGITS, 1, 3, position=0).tolist() == [-2.0]
    assert score(LOGITS[:, 0], 2).tolist() == [2.0]
    assert score(torch.tensor([4.0, 5.0]), None).tolist() == [4.0, 5.0]
    assert score(torch.tensor([[4.0], [5.0]]), None).tolist() == [4.0, 5.0]
    assert score(LOGITS, lambda y: y.sum((1, 2))).tolist() == [66.0]


@pytest.mark.untyped
def test_a_function_must_make_a_tensor_of_scores():
    with pytest.raises(ValueError, match="one number of each of the 1 examples, got float from an output"):
        score(LOGITS, lambda y: 1.0)


def test_outputs_of_all_kinds():
    class Named(NamedTuple):
        loss: None
        logits: Tensor

    x = torch.ones(1, 2)
    for output in (LOGITS, (LOGITS, "cache"), {"logits": LOGITS}, Named(None, LOGITS)):
        assert run(lambda _, output=output: output, x) is LOGITS


def test_an_index_error_on_real_numbers_is_the_models_own():
    def broken(x: Tensor) -> Tensor:
        return x[:, [5]]

    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        run(broken, torch.ones(1, 2))


def test_modes_come_back_also_after_an_error():
    model = nn.Sequential(nn.Dropout(), nn.Linear(2, 2))
    model[1].eval()
    with pytest.raises(KeyError), at_rest(model):
        assert not model[0].training
        raise KeyError
    assert [m.training for m in model.modules()] == [True, True, False]


def test_tokens():
    model = nn.Embedding(5, 2)
    for given in ([1, 2], torch.tensor([1, 2], dtype=torch.int32), torch.tensor([[1, 2]]), range(1, 3)):
        assert as_tokens("tokens", given, model).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match=r"clean must be those of one text, .* got shape \(1, 0\); look at one"):
        as_tokens("clean", torch.zeros(1, 0, dtype=torch.long), model)


def test_words():
    model = nn.Linear(1, 1)
    assert words_for(model, None)(7) == "7"
    assert words_for(model, lambda ids: f"<{ids[0]}>")(7) == "<7>"
