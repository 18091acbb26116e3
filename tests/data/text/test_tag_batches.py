"""Batches of tagged sentences: each sentence once an epoch, padding, shares of processes, tags never seen."""

import numpy as np
import pytest

from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import NO_TAG, EncodedSentences, TagBatches, every_sentence
from cutaway.data.text.tagged_sentences import Tagged

SENTENCES = [Tagged(tuple(f"w{j}" for j in range(i, 2 * i + 1)), ("A",) * (i + 1)) for i in range(17)]
LEXICON = Lexicon.from_sentences([s.words for s in SENTENCES], [s.tags for s in SENTENCES])
ENCODED = EncodedSentences(SENTENCES, LEXICON)


def test_a_batch_by_hand():
    odd = EncodedSentences([Tagged(("w1", "new", "w1"), ("A", None, "B")), Tagged(("w2",), ("A",))], LEXICON, hide=1.0)
    batch = odd.batch(np.array([1, 0]))
    assert batch.lengths.tolist() == [1, 3]
    assert batch.tags.tolist() == [[0, NO_TAG, NO_TAG], [0, NO_TAG, 1]]  # "B" was never seen: the number of tags
    assert batch.each == 3.0
    assert len(batch.characters) == 3  # different words
    assert batch.places[1, 0] == batch.places[1, 2]
    assert batch.words[1, 1] == 0
    assert batch.characters.shape[1] == 3  # letters of the longest word
    assert batch.hide[1, 1] == 1.0
    assert 0 < batch.hide[1, 0] < 1


def test_every_sentence_once_an_epoch():
    batches = TagBatches(ENCODED, 4, seed=3)
    lengths = [n for step in range(4) for n in batches.at(step).lengths.tolist()]
    assert len(lengths) == 16
    assert len(set(lengths)) == 16  # the sentences differ in length
    again = TagBatches(ENCODED, 4, seed=3)
    assert np.array_equal(again.at(6).tags, batches.at(6).tags)
    assert sorted(n for _, b in every_sentence(ENCODED, 5) for n in b.lengths.tolist()) == list(range(1, 18))


def test_shares_of_processes_are_the_batch():
    whole = TagBatches(ENCODED, 4, seed=3).at(1)
    parts = [TagBatches(ENCODED, 4, seed=3, rank=rank, world=2).at(1) for rank in range(2)]
    assert [n for part in parts for n in part.lengths.tolist()] == whole.lengths.tolist()
    assert [part.each for part in parts] == [whole.each / 2] * 2


def test_too_few_sentences():
    with pytest.raises(ValueError, match=r"got batch=18 for 17 sentences; try batch=17"):
        TagBatches(ENCODED, 18)
