"""The random numbers of training, kept apart from everyone else's."""

import pytest
import torch

from cutaway.training.random_stream import RandomStream


def test_a_stream_is_torch_from_that_seed():
    stream = RandomStream(3)
    with stream:
        drawn = torch.rand(4)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(4))


def test_what_is_drawn_outside_moves_nothing_inside_and_the_other_way_round():
    torch.manual_seed(5)
    outside = [torch.rand(1), torch.rand(1)]
    stream = RandomStream(1)
    with stream:
        inside = [torch.rand(1), torch.rand(1)]
    torch.manual_seed(5)
    stream = RandomStream(1)
    mixed = []
    for _ in range(2):
        with stream:
            mixed.append(torch.rand(1))
        mixed.append(torch.rand(1))
    assert mixed == [inside[0], outside[0], inside[1], outside[1]]


def test_a_pass_that_raises_can_be_run_again_with_the_same_numbers():
    stream = RandomStream(0)
    seen = []

    def fails() -> None:
        with stream:
            seen.append(torch.rand(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    with stream:
        assert torch.rand(1) == seen[0]


def test_it_goes_on_where_its_state_was_taken():
    stream = RandomStream(0)
    with stream:
        torch.rand(3)
    kept = stream.tensors()
    with stream:
        after = torch.rand(3)
    other = RandomStream(99)
    other.restore(kept)
    with other:
        assert torch.equal(torch.rand(3), after)


def test_the_state_of_a_device_that_is_not_there_is_left_out():
    stream = RandomStream(0)
    stream.restore(stream.tensors() | {"cuda": torch.zeros(16, dtype=torch.uint8)})
    assert set(stream.tensors()) == {"cpu"}
