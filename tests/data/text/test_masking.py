"""Masked tokens: exactly as many as Devlin et al. say, in their shares, and the same for the same number."""

import numpy as np
import pytest

from cutaway.data.text.masking import MaskedBatches, Masking, every_masked_batch, make_masked_batch, mask_tokens
from cutaway.data.text.special_tokens import SpecialTokens
from cutaway.data.text.token_files import Tokens

SPECIAL_TOKENS = SpecialTokens(100, 101, 102, "[MASK]")
HOW = Masking(SPECIAL_TOKENS, 103, 42)
TEXT = np.arange(4000, dtype=np.int64) % 100


def stretches(rows: int = 500) -> np.ndarray:
    return np.tile(np.arange(40), (rows, 1))


def test_as_many_as_the_authors_choose():
    _, chosen = mask_tokens(stretches(), HOW, 0, 0)
    assert set(chosen.sum(1)) == {6}  # 15 % of 40, in every stretch
    _, few = mask_tokens(np.zeros((5, 2), np.int64), HOW, 0, 0)
    assert set(few.sum(1)) == {1}  # at least one


def test_the_shares_of_what_a_chosen_token_becomes():
    text = stretches()
    tokens, chosen = mask_tokens(text, HOW, 0, 0)
    assert np.array_equal(tokens[~chosen], text[~chosen])
    masked, kept = tokens[chosen] == SPECIAL_TOKENS.mask, tokens[chosen] == text[chosen]
    n = chosen.sum()  # 3,000: three deviations of a share p are 3 √(p(1−p)/n), 0.022 and 0.016
    assert masked.mean() == pytest.approx(0.8 + 0.1 / 103, abs=0.022)  # a random token may be the mask too
    assert kept.mean() == pytest.approx(0.1 + 0.1 / 103, abs=0.017)
    others = tokens[chosen][~masked & ~kept]
    assert len(others) == pytest.approx(0.1 * n, abs=0.017 * n)
    assert others.max() > 90  # from the whole vocabulary, not from the 40 of the text


def test_every_place_is_chosen_equally_often():
    _, chosen = mask_tokens(stretches(2000), HOW, 0, 0)
    assert np.abs(chosen.mean(0) - 0.15).max() < 4 * (0.15 * 0.85 / 2000) ** 0.5


def test_a_batch_is_masked_by_its_number_and_anew_each_time():
    one, again = (mask_tokens(stretches(3), HOW, 7, 5) for _ in range(2))
    assert np.array_equal(one[0], again[0])
    for seed, number in ((7, 6), (8, 5)):
        assert not np.array_equal(one[1], mask_tokens(stretches(3), HOW, seed, number)[1])


def test_stretches_stand_between_their_marks():
    gaps = make_masked_batch(stretches(3), HOW, 0, 0)
    assert gaps.tokens.shape == gaps.chosen.shape == (3, 42)
    assert (gaps.tokens[:, 0] == SPECIAL_TOKENS.start).all()
    assert (gaps.tokens[:, -1] == SPECIAL_TOKENS.end).all()
    assert not gaps.chosen[:, [0, -1]].any()
    places = np.nonzero(gaps.chosen)[1]
    assert np.array_equal(gaps.targets, places - 1)  # token i of a stretch is i


def test_the_text_of_a_batch_is_text():
    gaps = MaskedBatches(Tokens(TEXT), HOW, 8).at(3)
    whole = gaps.tokens.copy()
    whole[gaps.chosen] = gaps.targets
    assert (np.diff(whole[:, 1:-1], axis=1) % 100 == 1).all()


def test_evaluation_has_the_same_gaps_always():
    whole = list(every_masked_batch(Tokens(TEXT), HOW, 7))
    again = list(every_masked_batch(Tokens(TEXT), HOW, 64))
    assert [len(gaps.tokens) for gaps in whole] == [7] * 14 + [2]  # 4000 // 40
    for i in range(3):
        assert np.array_equal(np.concatenate([gaps[i] for gaps in whole]), np.concatenate([gaps[i] for gaps in again]))
    assert len({tuple(row) for gaps in whole for row in gaps.chosen}) > 95  # other places in every stretch


def test_a_limited_evaluation_is_a_part_of_the_whole_one():
    (few,) = every_masked_batch(Tokens(TEXT), HOW, 64, limit=400)
    (all_of, more) = every_masked_batch(Tokens(TEXT), HOW, 64)
    rows = np.concatenate([all_of.tokens, more.tokens])
    assert np.array_equal(few.tokens, rows[::10])


def test_a_text_that_is_too_short():
    with pytest.raises(ValueError, match="the training text must hold more tokens than the context, got 40 tokens"):
        MaskedBatches(Tokens(TEXT[:40]), HOW, 2)
