"""Batches of texts: every text in each epoch, similar lengths together, a function of seed and step alone."""

import numpy as np
import pytest

from cutaway.data.labelled.text_batches import EncodedTexts, TextBatches, every_text
from cutaway.data.text.token_rows import TokenRows


def texts(count: int) -> EncodedTexts:
    lengths = np.random.default_rng(0).integers(1, 40, count)
    tokens = TokenRows.from_rows([np.full(n, i + 1) for i, n in enumerate(lengths)])
    features = TokenRows.from_rows([np.arange(i % 3) for i in range(count)])
    return EncodedTexts(tokens, features, np.arange(count))


def test_every_text_in_each_epoch():
    batches = TextBatches(texts(103), 10, seed=3)
    for epoch in range(2):
        seen = np.concatenate([batches.at(11 * epoch + i).labels for i in range(11)])
        counts = np.bincount(seen, minlength=103)
        assert counts.min() == 1
        assert counts.sum() == 110


def test_rows_of_a_batch_belong_together():
    batch = TextBatches(texts(50), 8).at(5)
    for tokens, features, label in zip(*batch):
        assert set(tokens.tolist()) <= {0, label + 1}
        assert (features != 0).sum() == max(0, label % 3 - 1)


def test_a_function_of_the_step():
    one, other = TextBatches(texts(60), 7, seed=1), TextBatches(texts(60), 7, seed=1)
    for _ in range(20):
        next(one)
    np.testing.assert_array_equal(one.at(20).tokens, other.at(20).tokens)
    assert not np.array_equal(one.at(20).labels, TextBatches(texts(60), 7, seed=2).at(20).labels)


def test_similar_lengths_need_little_padding():
    data = texts(800)
    padded = [TextBatches(data, 16).at(i).tokens for i in range(50)]
    assert np.mean([(batch == 0).mean() for batch in padded]) < 0.1
    random = data.tokens.padded(np.arange(16))
    assert (random == 0).mean() > 0.3


def test_shares_make_up_the_batch():
    data = texts(40)
    whole = TextBatches(data, 8).at(3)
    shares = [TextBatches(data, 8, 0, rank, 2).at(3) for rank in range(2)]
    np.testing.assert_array_equal(np.concatenate([share.tokens for share in shares]), whole.tokens)


def test_a_batch_larger_than_the_data():
    assert sorted(TextBatches(texts(3), 6).at(0).labels.tolist()) == [0, 0, 1, 1, 2, 2]


def test_every_text_once():
    found = [rows for rows, _ in every_text(texts(23), 5)]
    assert sorted(np.concatenate(found).tolist()) == list(range(23))


def test_refused():
    with pytest.raises(ValueError, match="at least one text, got none"):
        TextBatches(texts(0), 5)
