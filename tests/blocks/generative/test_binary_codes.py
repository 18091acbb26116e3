"""The binary code: zeros and ones, a straight-through slope, and K-means with K = 2."""

import pytest
import torch

from cutaway.blocks import BinaryCode, Linear, binary_code


def test_codes_and_slopes_by_hand():
    s = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0], requires_grad=True)
    z = binary_code(s)
    assert z.tolist() == [0, 0, 1, 1, 1]
    (z * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])).sum().backward()
    assert s.grad.tolist() == [0, 2, 3, 4, 0]  # none beyond ±1


def test_trained_on_squared_errors_one_unit_finds_the_centroids_of_two_means():
    """Three unequal heaps, so that the two centroids are not simply two of the heaps."""
    from sklearn.cluster import KMeans

    torch.manual_seed(0)
    heaps = [
        torch.randn(count, 2) * 0.5 + torch.tensor(at)
        for count, at in ((60, (0.0, 0.0)), (30, (4.0, 1.0)), (20, (5.0, 4.0)))
    ]
    x = torch.cat(heaps)
    x = x - x.mean(0)
    code, decoder = BinaryCode(2, 1), Linear(1, 2)
    optimizer = torch.optim.Adam([*code.parameters(), *decoder.parameters()], lr=0.1)
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 - step / 400)
        loss = (decoder(code(x)) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    points = decoder(torch.tensor([[0.0], [1.0]])).detach()
    centroids = torch.from_numpy(KMeans(2, n_init=5, random_state=0).fit(x.numpy()).cluster_centers_)
    order = torch.cdist(points, centroids).argmin(1)
    assert sorted(order.tolist()) == [0, 1]
    torch.testing.assert_close(points, centroids[order], atol=1e-3, rtol=0)


def test_borders_start_across_the_principal_directions():
    torch.manual_seed(0)
    x = torch.randn(500, 3).double() * torch.tensor([1.0, 50.0, 7.0]) + 200
    code = BinaryCode(3, 2).double()
    code.start_from(x, spread=4.0)
    s = code.to_score(x)
    torch.testing.assert_close(s.mean(0), torch.zeros(2).double(), atol=1e-9, rtol=0)
    torch.testing.assert_close(s.std(0), torch.full((2,), 4.0).double())
    assert code.to_score.weight.abs().argmax(0).tolist() == [1, 2]


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"s must be a float tensor, got torch.int64"):
        binary_code(torch.tensor([1]))
    with pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(2, 4\)"):
        BinaryCode(3, 1)(torch.zeros(2, 4))
