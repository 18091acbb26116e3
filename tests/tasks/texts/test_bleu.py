"""BLEU by hand, by its laws, and against another way to count."""

import math
import random

import pytest

from cutaway.tasks.texts.bleu import bleu, split_words


def test_the_example_of_papineni():
    """Papineni et al. 2002, §2.1: 'the' seven times has a modified unigram precision of 2/7 and no bigram."""
    references = ["The cat is on the mat.", "There is a cat on the mat."]
    assert bleu(["the the the the the the the."], [references]) == 0.0  # no bigram is right


def test_by_hand():
    """a b c d e against a b c x e: 4/5, 2/4 (ab bc), 1/3 (abc), 0/2: made 1/2 by another sentence's 4-gram."""
    translations, references = ["a b c d e", "p q r s"], [["a b c x e"], ["p q r s"]]
    # unigrams 4/5 + 4/4 = 8/9, bigrams 2/4 + 3/3 = 5/7, trigrams 1/3 + 2/2 = 3/5, 4-grams 0/2 + 1/1 = 1/3
    expected = 100 * (8 / 9 * 5 / 7 * 3 / 5 * 1 / 3) ** 0.25
    assert bleu(translations, references) == pytest.approx(expected)


def test_what_is_too_short_is_punished_and_what_is_too_long_is_not():
    assert bleu(["a b c d"], [["a b c d e f"]]) == pytest.approx(100 * math.exp(1 - 6 / 4))
    # 4 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples
    long = bleu(["a b c d e f"], [["a b c d"]])
    assert long == pytest.approx(100 * (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)


def test_the_reference_of_the_nearest_length_counts():
    near, far = "a b c d e", "a b c d e f g h i j"
    assert bleu(["a b c d e"], [[far, near]]) == 100.0
    assert bleu(["a b c d"], [["a b c d x", "a b c"]]) == pytest.approx(100.0)  # of 5 and 3 the shorter


def test_every_reference_may_help():
    one = bleu(["the cat sat on the mat"], [["the cat sat there on a mat"]])
    two = bleu(["the cat sat on the mat"], [["the cat sat there on a mat", "a dog sat on the mat"]])
    assert one < two < 100.0


def test_short_texts_have_no_long_grams():
    assert bleu(["Go", "Stop it"], [["Go"], ["Stop it"]]) == 100.0
    assert bleu(["", ""], [["Go"], ["Stop"]]) == 0.0


def test_words_and_signs():
    assert split_words("¡Año 1987-03!") == ["¡", "Año", "1987", "-", "03", "!"]
    assert bleu(["a b c D"], [["a b c d"]]) == 0.0  # case counts: no 4-gram is right


def test_references_must_be_there():
    with pytest.raises(ValueError, match="got 2 translations and 1 lists of references, 0 of them empty; give one"):
        bleu(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match="got 1 translations and 1 lists of references, 1 of them empty"):
        bleu(["a"], [[]])


def test_equals_sacrebleu_on_the_same_words():
    """Post 2018; unsmoothed, and given the words as ours splits them. References are one list a position there."""
    sacrebleu = pytest.importorskip("sacrebleu")
    chance = random.Random(0)
    words = ["the", "cat", "dog", "sat", "on", "a", "mat", ",", "."]
    translations = [" ".join(chance.choices(words, k=chance.randint(4, 12))) for _ in range(40)]
    references = [[_altered(text, words, chance) for _ in range(2)] for text in translations]
    theirs = sacrebleu.corpus_bleu(
        [" ".join(split_words(text)) for text in translations],
        [[" ".join(split_words(known[i])) for known in references] for i in range(2)],
        tokenize="none",
        smooth_method="none",
        force=True,
    )
    assert bleu(translations, references) == pytest.approx(theirs.score)
    assert 10 < theirs.score < 90


def _altered(text: str, words: list[str], chance: random.Random) -> str:
    return " ".join(chance.choice(words) if chance.random() < 0.3 else word for word in text.split())
