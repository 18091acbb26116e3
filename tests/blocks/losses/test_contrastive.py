"""Contrastive losses: by hand, by their laws, and against other ways to write them, in float64."""

import math

import pytest
import torch
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestCentroid
from torch import nn

from cutaway.blocks import (
    info_nce,
    margin_loss,
    nt_xent,
    prototypes,
    prototypical_loss,
    retrieval_loss,
    squared_distances,
)

SAME = torch.tensor([True, False, True, False, False])


def pairs(n: int = 5, d: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n, d, dtype=torch.float64), torch.randn(n, d, dtype=torch.float64)


def test_margin_by_a_loop():
    a, b = pairs()
    for m in (0.5, 1.0, 3.0):
        by_hand = []
        for x, y, s in zip(a, b, SAME, strict=True):
            d = math.dist(x.tolist(), y.tolist())
            by_hand.append(d**2 if s else max(0.0, m - d) ** 2)
        torch.testing.assert_close(margin_loss(a, b, SAME, m), torch.tensor(by_hand, dtype=torch.float64))


def test_margin_lets_go_beyond_it_and_never_divides_by_zero():
    a = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], requires_grad=True)
    b = torch.tensor([[2.0, 0.0], [0.5, 0.0], [1.0, 1.0]])
    margin_loss(a, b, torch.tensor([False, False, False])).sum().backward()
    assert a.grad is not None
    assert a.grad[0].tolist() == [0, 0]  # far enough
    assert a.grad[1, 0] > 0  # a descent step moves it away from b
    assert a.grad[2].tolist() == [0, 0]  # at the same place: no direction, no NaN


def test_info_nce_is_two_cross_entropies_of_cosines():
    a, b = pairs(6)
    s = torch.stack([nn.functional.cosine_similarity(x[None], b) for x in a]) / 0.2
    both = torch.stack([-s.log_softmax(1).diagonal(), -s.log_softmax(0).diagonal()]).mean(0)
    torch.testing.assert_close(info_nce(a, b, 0.2), both)
    torch.testing.assert_close(info_nce(a, b, 0.2), info_nce(b, a, 0.2))
    torch.testing.assert_close(info_nce(3 * a, 0.1 * b, 0.2), info_nce(a, b, 0.2))  # lengths do not matter


def test_info_nce_of_equal_vectors_is_the_log_of_their_number():
    same = torch.ones(7, 4, dtype=torch.float64)
    torch.testing.assert_close(info_nce(same, same), torch.full((7,), math.log(7), dtype=torch.float64))


def test_nt_xent_by_a_loop_over_views():
    a, b = pairs(4)
    z = torch.cat([a, b])
    s = nn.functional.cosine_similarity(z[:, None], z[None], dim=-1) / 0.3
    losses = []
    for i in range(8):
        j = (i + 4) % 8
        others = [s[i, k].exp() for k in range(8) if k != i]
        losses.append(-(s[i, j].exp() / sum(others)).log())
    expected = (torch.stack(losses[:4]) + torch.stack(losses[4:])) / 2
    torch.testing.assert_close(nt_xent(a, b, 0.3), expected)
    torch.testing.assert_close(nt_xent(b, a, 0.3), expected)
    assert (nt_xent(a, b, 0.3) > 0).all()


def test_nt_xent_of_equal_vectors_is_the_log_of_all_others():
    same = torch.ones(7, 4, dtype=torch.float64)
    torch.testing.assert_close(nt_xent(same, same), torch.full((7,), math.log(13), dtype=torch.float64))


def test_prototypes_are_nearest_centroids():
    z, labels = torch.randn(40, 3, dtype=torch.float64), torch.arange(40) % 4
    known = NearestCentroid().fit(z.numpy(), labels.numpy())
    centres = prototypes(z, labels)
    torch.testing.assert_close(centres, torch.from_numpy(known.centroids_))
    asked = torch.randn(30, 3, dtype=torch.float64)
    nearest = squared_distances(asked, centres).argmin(1)
    assert nearest.tolist() == known.predict(asked.numpy()).tolist()
    assert prototypes(z, labels, classes=6).shape == (6, 3)


def test_prototypical_by_a_loop():
    z, centres = torch.randn(4, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    labels = torch.tensor([0, 4, 2, 2])
    for one, k, loss in zip(z, labels, prototypical_loss(z, labels, centres), strict=True):
        weights = [math.exp(-(math.dist(one.tolist(), c.tolist()) ** 2)) for c in centres]
        assert loss.item() == pytest.approx(-math.log(weights[k] / sum(weights)))


def test_squared_distances_are_scikit_learns():
    a, b = torch.randn(7, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    torch.testing.assert_close(
        squared_distances(a, b), torch.from_numpy(pairwise_distances(a.numpy(), b.numpy(), metric="sqeuclidean"))
    )


def test_gradients():
    a, b = (x.requires_grad_() for x in pairs())
    assert torch.autograd.gradcheck(lambda x, y: margin_loss(x, y, SAME, 2.0), (a, b))
    assert torch.autograd.gradcheck(info_nce, (a, b))
    assert torch.autograd.gradcheck(lambda x, y: prototypical_loss(x, torch.arange(5), y), (a, b))


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin_loss(torch.randn(2, 3), torch.randn(3, 3), SAME[:2]), r"a and b must have one shape"),
        (lambda: margin_loss(torch.randn(2, 3), torch.randn(2, 3), SAME[:2], 0.0), r"margin must be above 0, got 0"),
        (lambda: info_nce(torch.randn(3), torch.randn(3)), r"a must have shape \(n, width\), got \(3,\)"),
        (lambda: info_nce(torch.randn(2, 3), torch.randn(2, 3), -1.0), r"temperature must be above 0, got -1"),
        (lambda: prototypes(torch.zeros(3, 2, dtype=torch.long), torch.zeros(3, dtype=torch.long)), r"z must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_retrieval_is_half_of_info_nce_and_takes_more_candidates():
    a, b = pairs()
    there, back = retrieval_loss(a, b, 0.2), retrieval_loss(b, a, 0.2)
    torch.testing.assert_close((there + back) / 2, info_nce(a, b, 0.2))
    more = torch.cat([b, torch.randn(4, 3, dtype=torch.float64)])
    cosines = nn.functional.cosine_similarity(a[:, None], more[None], dim=-1)
    by_hand = (5 * cosines).logsumexp(1) - 5 * cosines.diagonal()
    torch.testing.assert_close(retrieval_loss(a, more, 0.2), by_hand)
    excluded = torch.zeros(5, 9, dtype=torch.bool)
    excluded[:, 5:] = True
    torch.testing.assert_close(retrieval_loss(a, more, 0.2, excluded), there)


def test_retrieval_needs_a_candidate_for_each():
    a, b = pairs()
    with pytest.raises(
        ValueError, match=r"each of 5 vectors needs a candidate of its own, .* got \(4, 3\) for \(5, 3\)"
    ):
        retrieval_loss(a, b[:4])
