"""Fixed standardisation of channels: by hand, state, messages."""

import pytest
import torch

from cutaway.blocks import ChannelScale


def test_by_hand():
    scale = ChannelScale(2)
    x = torch.ones(1, 2, 1, 1)
    assert torch.equal(scale(x), x)
    scale.fit(torch.tensor([0.5, 1.0]), torch.tensor([0.25, 0.0]))
    assert scale(x).flatten().tolist() == [2, 0]  # a channel that never changes is only shifted
    assert scale.extra_repr() == "2"


def test_the_statistics_are_kept_with_the_weights():
    first, second = ChannelScale(3), ChannelScale(3)
    first.fit(torch.rand(3), torch.rand(3))
    second.load_state_dict(first.state_dict())
    x = torch.rand(2, 3, 4, 5)
    assert torch.equal(first(x), second(x))
    assert not list(first.parameters())


@pytest.mark.untyped
def test_messages():
    with pytest.raises(ValueError, match=r"images must have shape \(..., 3, height, width\), got \(4, 4, 3\)"):
        ChannelScale(3)(torch.zeros(4, 4, 3))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.uint8"):
        ChannelScale(3)(torch.zeros(3, 4, 4, dtype=torch.uint8))
