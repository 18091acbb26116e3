"""Pictures of words: cosines by hand, groups that are there."""

import numpy as np
import pytest
from look.rendered import rows_of

from cutaway.look.embeddings.word_maps import word_groups, word_map, word_similarity

WORDS = ["cat", "dog", "law"]
MATRIX = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]])


def test_similarity_by_hand():
    picture = word_similarity(MATRIX, WORDS)
    values = [row["values"] for row in rows_of(picture)]
    assert values[0][1:] == pytest.approx([0.6, 0.0])
    assert values[1][2] == pytest.approx(0.8)
    assert values[1][1] is None
    assert picture.caption.endswith("uses alike.")


def test_groups_of_clouds_are_found():
    rng = np.random.default_rng(0)
    middles = np.eye(4)[[0, 1, 2] * 20] * 5
    groups, centres = word_groups(middles + rng.normal(size=(60, 4)) * 0.3, 3)
    assert groups == [groups[i % 3] for i in range(60)]
    assert len(set(groups)) == 3
    assert [groups[i] for i in centres] == [0, 1, 2]


def test_equal_vectors_leave_groups_empty():
    groups, centres = word_groups(np.ones((5, 2)), 3)
    assert groups == [0] * 5
    assert len(centres) == 3


def test_a_map_names_its_groups_by_their_centres():
    rng = np.random.default_rng(0)
    matrix = np.repeat(np.eye(2), 10, 0) * 5 + rng.normal(size=(20, 2)) * 0.1
    words = [f"a{i}" for i in range(10)] + [f"b{i}" for i in range(10)]
    names = {row["group"] for row in rows_of(word_map(matrix, words))}
    assert sorted(name[:8] for name in names) == ["around a", "around b"]
