"""The reach of a stack: the notes' numbers, and what gradients say."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cutaway.blocks import Reach, stack_reach


def test_two_convolutions_of_width_3_see_5_inputs():
    assert stack_reach([3, 3]) == Reach(5, 1)
    assert stack_reach([]) == Reach(1, 1)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=4))
def test_what_gradients_say(layers):
    stack = nn.Sequential(*(nn.Conv1d(1, 1, k, s, dilation=d, bias=False) for k, s, d in layers))
    for conv in stack:
        nn.init.ones_(conv.weight)
    reach = stack_reach(layers)
    x = torch.zeros(1, 1, reach.size + reach.stride, requires_grad=True)  # room for two outputs
    y = stack(x)
    assert y.shape[-1] == 2
    places = [torch.autograd.grad(y[0, 0, i], x, retain_graph=True)[0].flatten().nonzero().flatten() for i in (0, 1)]
    assert int(places[0][-1] - places[0][0]) + 1 == reach.size
    assert int(places[1][0] - places[0][0]) == reach.stride


def test_messages():
    with pytest.raises(ValueError, match=r"stride must be above 0, got 0"):
        stack_reach([(3, 0)])
