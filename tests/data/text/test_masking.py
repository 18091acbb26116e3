"""Masked tokens: exactly as many as Devlin et al. say, in their shares, and the same for the same number."""

import numpy as np
import pytest
import tokenizers as hf

from cutaway.data.seeded_draws import draw_uniform
from cutaway.data.text.masking import (
    MaskedBatches,
    Masking,
    every_masked_batch,
    make_masked_batch,
    mask_tokens,
    span_numbers,
)
from cutaway.data.text.special_tokens import SpecialTokens
from cutaway.data.text.token_files import Tokens
from cutaway.data.text.tokenizers import Characters, Tokenizer
from cutaway.data.text.word_starts import word_table

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


# Whole words and spans, of a text of characters.

WORDY = Characters(" xy", special=("[CLS]", "[SEP]", "[MASK]"))


def wordy(kind: str, rows: int = 400, n: int = 120, seed: int = 0) -> tuple[np.ndarray, Masking]:
    """Rows of words of 1 to 4 letters with a space before each, and how they are masked."""
    rng = np.random.default_rng(seed)
    text = "".join(" x" + "y" * int(rng.integers(0, 4)) for _ in range(rows * n))
    ids = WORDY.encode(text)[: rows * n].reshape(rows, n)
    special = SpecialTokens(*(WORDY.id_of(name) for name in ("[CLS]", "[SEP]", "[MASK]")), "[MASK]")
    return ids, Masking(special, WORDY.vocabulary, n + 2, 0.15, kind, word_table(WORDY))  # type: ignore[arg-type]


def runs(row: np.ndarray) -> list[tuple[int, int]]:
    """The stretches of True of a row: first and behind the last."""
    edges = np.flatnonzero(np.diff(np.r_[False, row, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


@pytest.mark.parametrize("kind", ["words", "spans"])
def test_words_are_whole_and_the_share_is_right(kind: str):
    text, masking = wordy(kind)
    tokens, chosen = mask_tokens(text, masking, 0, 0)
    assert np.array_equal(tokens[~chosen], text[~chosen])
    space = WORDY.encode(" ")[0]
    for row, mask in zip(text, chosen, strict=True):
        for first, behind in runs(mask):
            assert first == 0 or row[first] == space  # from a word's beginning …
            assert behind == len(row) or row[behind] == space  # … to a word's end
    # E(chosen of a row) = 0.15 n exactly; spans are few, so that their spread is larger
    error = chosen.mean(1).std() / len(chosen) ** 0.5
    assert chosen.mean() == pytest.approx(0.15, abs=4 * error)
    assert error < 0.006


@pytest.mark.parametrize("kind", ["words", "spans"])
def test_all_tokens_of_a_word_or_span_meet_one_fate(kind: str):
    text, masking = wordy(kind)
    tokens, chosen = mask_tokens(text, masking, 0, 0)
    masked = tokens == masking.special.mask
    whole = [masked[i, a:b].mean() for i, row in enumerate(chosen) for a, b in runs(row)]
    # Neighbours may differ, and a random token may be the mask: most runs of one unit are all or nothing.
    shares = np.array(whole)
    assert ((shares == 0) | (shares == 1)).mean() > 0.7
    assert masked[chosen].mean() == pytest.approx(0.8, abs=0.05)


def test_spans_have_the_lengths_of_spanbert():
    u = draw_uniform(0, "test", 0, 3000 * 40).reshape(3000, 40)
    numbers = span_numbers(u)
    assert (np.diff(numbers, axis=1) >= 0).all()
    assert (numbers[:, 0] == 0).all()
    lengths = (numbers == 0).sum(1)  # the first span of each row, which the end of the row never cuts
    p = 0.2 * 0.8 ** np.arange(10)
    p /= p.sum()
    assert np.arange(1, 11) @ p == pytest.approx(3.8, abs=0.01)  # as Joshi et al. state
    assert lengths.max() == 10
    counts = np.bincount(lengths, minlength=11)[1:]
    assert ((counts - 3000 * p) ** 2 / (3000 * p)).sum() < 27.9  # χ² of 9 degrees, one in a thousand


def test_white_space_is_no_word():
    text = np.full((50, 20), WORDY.encode(" ")[0])
    text[:, 10:12] = WORDY.encode("xy")
    _, masking = wordy("words")
    _, chosen = mask_tokens(text, masking, 0, 0)
    assert set(np.nonzero(chosen)[1]) <= {9, 10, 11}  # the word and the space before it


def test_a_batch_of_long_words_has_something_to_guess():
    text = np.full((1, 30), WORDY.encode("x")[0])  # one word, far longer than the share
    _, masking = wordy("words")
    numbers = range(40)
    assert all(mask_tokens(text, masking, 0, number)[1].all() for number in numbers)
    none = [not mask_tokens(text, masking, 0, number, some=False)[1].any() for number in numbers]
    assert 0.6 < np.mean(none) < 1  # taken with probability 0.15


def test_processes_share_what_is_masked():
    text, masking = wordy("words", 8)
    whole = MaskedBatches(Tokens(text.ravel()), masking, 8, 3).at(2)
    parts = [MaskedBatches(Tokens(text.ravel()), masking, 8, 3, rank, 4).at(2) for rank in range(4)]
    for i in range(3):
        assert np.array_equal(np.concatenate([part[i] for part in parts]), whole[i])


def test_as_the_collator_of_transformers_does():
    """Its contract: labels where masked alone, words whole, special tokens never; ours holds to the same words."""
    transformers = pytest.importorskip("transformers")
    words = ["un", "##believ", "##able", "cat", "##s", "a", "ran"]
    vocabulary = {name: i for i, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
    inner = hf.Tokenizer(hf.models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    inner.post_processor = hf.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), vocabulary, strict=False))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names)
    text = "unbelievable cats ran a cat " * 8
    collate = transformers.DataCollatorForLanguageModeling(
        theirs, mlm_probability=0.3, whole_word_mask=True, mask_replace_prob=1.0, random_replace_prob=0.0, seed=1
    )
    rows = [
        theirs(text, return_offsets_mapping=True, return_special_tokens_mask=True, return_attention_mask=False)
        for _ in range(20)
    ]
    found = collate([dict(row) for row in rows])
    ids = np.array(rows[0]["input_ids"])[1:-1]
    table = word_table(Tokenizer(inner))
    numbers = table.starts(ids[None])[0].cumsum() - 1
    masking = Masking(SpecialTokens(2, 3, 4, "[MASK]"), len(vocabulary), len(ids) + 2, 0.3, "words", table)
    ours = make_masked_batch(np.tile(ids, (20, 1)), masking, 0, 0).chosen
    for chosen in (found["labels"].numpy() != -100, ours):
        assert not chosen[:, [0, -1]].any()
        assert chosen.any()
        for row in chosen[:, 1:-1]:
            for number in range(numbers.max() + 1):
                assert len(set(row[numbers == number])) == 1
