"""Packed data comes back as it was, and no picture is stored twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutaway.look.graph_drawing.packing import Levels, pack, unpack


@given(st.binary())
def test_round_trip(data: bytes):
    packed = pack(data)
    assert unpack(packed) == data
    assert not set(packed) & set("<>&\"'")


def test_pictures_stand_one_after_the_other_and_once():
    levels = Levels()
    matrix, other = np.arange(6, dtype=np.uint8).reshape(2, 3), np.ones((2, 3), dtype=np.uint8)
    assert [levels.add(one) for one in (matrix, other, matrix.copy(), matrix.T)] == [
        *((0, False), (6, False)),
        *((0, False), (0, True)),
    ]
    assert levels.add(matrix.reshape(1, 6)) == (12, False)  # the same bytes in another shape
    assert unpack(levels.packed()) == matrix.tobytes() + other.tobytes() + matrix.tobytes()
