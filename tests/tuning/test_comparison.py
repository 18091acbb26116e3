"""A tuned model beside its base: whose answers are which."""

import numpy as np
import torch

from cutaway.data.labelled.text_pairs import PairRows
from cutaway.data.text.special_tokens import SPECIAL_TOKENS, frame
from cutaway.data.text.tokenizers import Bytes
from cutaway.models import BERT
from cutaway.tuning.comparison import pair_answers, text_inputs


def build() -> BERT:
    torch.manual_seed(0)
    model = BERT(vocabulary=260, width=12, depth=1, heads=2, context=32)
    model.tokenizer = frame(Bytes(SPECIAL_TOKENS))
    return model


def test_texts_as_arguments():
    model = build()
    inputs = text_inputs(model, ["ab", "c", "", "a longer text"])
    tokens, options = inputs[0]
    assert tokens.shape == (4, 15)
    assert options["mask"].sum().item() == 4 + 3 + 2 + 15
    assert len(text_inputs(model, ["ab", "cd"])[0]) == 1


def test_pairs():
    """Equal texts are nearest to each other in any model."""
    model = build()
    same = PairRows(["one", "two", "three"], ["one", "two", "three"])
    found = pair_answers(model, model, same)
    assert found.right_before.all()
    assert found.right_after.all()
    crossed = pair_answers(model, model, PairRows(["one", "two"], ["two", "one"]))
    assert not crossed.right_before.any()
    np.testing.assert_array_equal(crossed.before, crossed.after)
