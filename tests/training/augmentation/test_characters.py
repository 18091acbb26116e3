"""Typing slips: each kind by what it keeps, the share of letters that change, and bad input."""

import re

import pytest
import torch

from cutaway.training import character_noise
from cutaway.training.augmentation.characters import KINDS

TEXT = "The quick brown fox, aged 42, jumps over ÄÖÜ and the lazy dog. " * 20


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", KINDS)
def test_what_each_keeps(kind):
    (new,) = character_noise([TEXT], 0.2, [kind], seeded())
    assert new != TEXT
    assert re.sub(r"\w", "", new) == re.sub(r"\w", "", TEXT)  # blanks and punctuation
    assert len(new.split()) == len(TEXT.split())
    if kind == "swap":
        assert sorted(new) == sorted(TEXT)
    if kind == "deletion":
        assert len(new) < len(TEXT)
    if kind == "repetition":
        assert re.sub(r"(.)\1+", r"\1", new) == re.sub(r"(.)\1+", r"\1", TEXT)
    if kind == "slip":
        assert [c.isupper() for c in new if c.isascii()][:200] == [c.isupper() for c in TEXT if c.isascii()][:200]


def test_share_seed_and_purity():
    texts = [TEXT, "", "a", "!?"]
    new = character_noise(texts, 0.1, ["slip"], seeded())
    plain = TEXT.replace("ÄÖÜ", "abc")
    (slips,) = character_noise([plain], 0.1, ["slip"], seeded())
    assert 0.07 < sum(a != b for a, b in zip(slips, plain)) / sum(c.isalnum() for c in plain) < 0.13
    assert new[1:] == ["", new[2], "!?"]
    assert new == character_noise(texts, 0.1, ["slip"], seeded()) != character_noise(texts, 0.1, ["slip"], seeded(1))
    assert character_noise(texts, 0.0) == texts
    assert character_noise(["a b"], 1.0, ["deletion"]) == ["a b"]  # a word keeps a letter


def test_bad_input():
    with pytest.raises(ValueError, match="texts must be a list of texts, got one text"):
        character_noise("abc", 0.1)
    with pytest.raises(ValueError, match="kinds must be some of swap, deletion, repetition, slip, got 'typo'; pick of"):
        character_noise(["abc"], 0.1, ["typo"])
    with pytest.raises(ValueError, match="rate must be a probability from 0 to 1, got -1"):
        character_noise(["abc"], -1)
