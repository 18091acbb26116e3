"""Hidden patches: by hand, and the laws of choosing, taking and putting back."""

import pytest
import torch
from torch import nn

from cutaway.blocks.embeddings.hidden_patches import (
    choose_visible,
    hidden_error,
    hidden_places,
    patch_targets,
    put_places,
    take_places,
)


def test_by_hand():
    x = torch.arange(8.0).view(1, 4, 2)
    places = torch.tensor([[1, 3]])
    z = take_places(x, places)
    assert z.tolist() == [[[2, 3], [6, 7]]]
    assert put_places(z, places, torch.tensor([-1.0, -2.0]), 4).tolist() == [[[-1, -2], [2, 3], [-1, -2], [6, 7]]]
    assert hidden_places(places, 4).tolist() == [[True, False, True, False]]
    errors = hidden_error(torch.zeros(1, 4, 2), x, hidden_places(places, 4))
    assert errors.tolist() == [(0 + 1 + 16 + 25) / 4]


def test_each_place_is_visible_equally_often_and_as_many_in_each_image():
    visible = choose_visible(4000, 16, 0.75)
    assert visible.shape == (4000, 4)
    assert (visible.diff(dim=1) > 0).all()  # in order, none twice
    share = torch.bincount(visible.flatten(), minlength=16) / 4000
    assert (share - 0.25).abs().max() < 4 * (0.25 * 0.75 / 4000) ** 0.5


def test_the_same_generator_hides_the_same():
    first, again = (choose_visible(5, 9, 0.5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize(("hidden", "patches", "count"), [(0.01, 4, 3), (0.99, 4, 1), (0.5, 9, 4)])
def test_some_are_visible_and_some_hidden(hidden: float, patches: int, count: int):
    assert choose_visible(2, patches, hidden).shape == (2, count)


def test_standardised_patches_are_those_of_layer_norm():
    x = torch.randn(2, 3, 8, 4, dtype=torch.float64)
    plain, standard = patch_targets(x, 2), patch_targets(x, 2, standardise=True)
    torch.testing.assert_close(standard, nn.functional.layer_norm(plain, plain.shape[-1:], eps=1e-6))
    assert patch_targets(torch.ones(1, 1, 4, 4), 2, standardise=True).abs().max() == 0  # one colour: no 0/0


def test_gradients():
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    other = torch.randn(3, dtype=torch.float64, requires_grad=True)
    places = torch.tensor([[0, 2], [1, 3]])
    put = lambda x, other: put_places(take_places(x, places), places, other, 4)
    assert torch.autograd.gradcheck(put, (x, other))


@pytest.mark.parametrize(
    ("patches", "hidden", "told"),
    [
        (1, 0.5, "two patches or more to hide some, got 1"),
        (4, 0.0, "hidden must be above 0 and below 1, got 0.0"),
        (4, 1.0, "hidden must be above 0 and below 1, got 1.0; try hidden=0.75"),
    ],
)
def test_what_cannot_be_hidden(patches: int, hidden: float, told: str):
    with pytest.raises(ValueError, match=told):
        choose_visible(2, patches, hidden)
