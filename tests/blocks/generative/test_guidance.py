"""Classifier-free guidance at its landmarks, and as the paper writes it."""

import pytest
import torch

from cutaway.blocks import guide


def test_landmarks():
    with_class, without = torch.tensor([3.0, 1.0]), torch.tensor([1.0, 1.0])
    assert guide(with_class, without, 0.0).tolist() == [1, 1]
    assert guide(with_class, without, 1.0).tolist() == [3, 1]
    assert guide(with_class, without, 2.0).tolist() == [5, 1]


def test_as_the_paper_writes_it():
    """(1 + w′) y_c − w′ y_∅ with w′ = w − 1."""
    torch.manual_seed(0)
    with_class, without = torch.randn(2, 5).double()
    torch.testing.assert_close(guide(with_class, without, 1.5), 1.5 * with_class - 0.5 * without)


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"unconditional and conditional must have one shape, got \(1,\) and \(2,\)"):
        guide(torch.zeros(2), torch.zeros(1), 1.5)
