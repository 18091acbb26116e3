"""What a run of word vectors learns from: by hand."""

import numpy as np

from cutaway.data.words.word_chunks import Stretch
from cutaway.tasks.words.word2vec import examples_of


def test_examples_of_a_stretch_by_hand():
    stretch = Stretch(np.array([7, 8, 9]), np.array([0, 1, 0]), 0)
    (found,) = examples_of(stretch, window=2, skip_gram=False)
    contexts = [sorted(c[m].tolist()) for c, m in zip(found.contexts, found.mask)]
    assert contexts == [[8], [7, 9], [8]]
    assert found.targets.tolist() == [7, 8, 9]
    (pairs,) = examples_of(stretch, window=2, skip_gram=True)
    assert list(zip(pairs.contexts.flatten().tolist(), pairs.targets.tolist())) == [(8, 7), (7, 8), (9, 8), (8, 9)]
    assert examples_of(Stretch(np.array([7]), np.array([1]), 0), 2, skip_gram=False) == []
