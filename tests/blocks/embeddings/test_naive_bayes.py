"""Log-count ratios and bags of features, against scikit-learn's naive Bayes and sums written out."""

import pytest
import torch
from sklearn.naive_bayes import MultinomialNB

from cutaway.blocks import NaiveBayesBag, log_count_ratios, sum_bag


def test_ratios_by_hand():
    # F = 2 features, α = 1: with class 0: (3+1)/(4+2) and (1+1)/(4+2); without it: (0+1)/(4+2) and (4+1)/(4+2)
    r = log_count_ratios(torch.tensor([[3.0, 0.0], [1.0, 4.0]]))
    expected = torch.tensor([[4 / 1, 1 / 4], [2 / 5, 5 / 2]]).log()
    torch.testing.assert_close(r, expected)


def test_ratios_of_two_classes_are_opposite():
    r = log_count_ratios(torch.randint(0, 9, (13, 2)).double())
    torch.testing.assert_close(r[:, 0], -r[:, 1])


def test_with_unit_weights_it_is_naive_bayes():
    torch.manual_seed(0)
    x = (torch.rand(40, 11) < 0.3).double()
    y = torch.randint(0, 2, (40,))
    counts = torch.stack([x[y == label].sum(0) for label in (0, 1)], 1)
    peer = MultinomialNB(alpha=1.0, fit_prior=False).fit(x.numpy(), y.numpy())
    log_odds = torch.tensor(peer.predict_joint_log_proba(x.numpy()))
    bag = NaiveBayesBag(12, 2, start=1.0).double()
    bag.set_counts(torch.cat([torch.zeros(1, 2), counts]))
    features = torch.stack([torch.where(row > 0, torch.arange(1, 12), 0) for row in x])
    s = bag(features)[:, 1]
    torch.testing.assert_close(s, log_odds[:, 1] - log_odds[:, 0])


def test_padding_adds_nothing_and_order_does_not_matter():
    bag = NaiveBayesBag(9, 3)
    bag.set_counts(torch.rand(9, 3) * 5, strength=torch.rand(9))
    one = bag(torch.tensor([[1, 5, 8]]))
    torch.testing.assert_close(bag(torch.tensor([[0, 8, 0, 5, 1, 0]])), one)
    torch.testing.assert_close(bag(torch.zeros(2, 4, dtype=torch.long)), bag.bias.expand(2, 3))
    assert bag(torch.zeros(2, 0, dtype=torch.long)).shape == (2, 3)


def test_strength_scales_the_ratios():
    counts = torch.rand(5, 2) * 4
    plain, half = NaiveBayesBag(5, 2), NaiveBayesBag(5, 2)
    plain.set_counts(counts)
    half.set_counts(counts, strength=torch.full((5,), 0.5))
    torch.testing.assert_close(half.ratios, plain.ratios / 2)
    assert not plain.ratios[0].any()


def test_sum_bag_is_the_sum_of_rows():
    table, ids = torch.randn(7, 2), torch.randint(1, 7, (2, 3, 5))
    torch.testing.assert_close(sum_bag(ids, table), table[ids].sum(-2))


@pytest.mark.untyped
def test_refused():
    with pytest.raises(ValueError, match=r"features must be ids, whole numbers, got torch.float32"):
        sum_bag(torch.ones(2, 3), torch.ones(4, 2))
    with pytest.raises(ValueError, match="classes must be above 0, got 0"):
        NaiveBayesBag(3, 0)
    with pytest.raises(ValueError, match="smoothing must be above 0, got 0"):
        log_count_ratios(torch.ones(2, 2), 0.0)
