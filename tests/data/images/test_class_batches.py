import numpy as np
import pytest

from cutaway.data.images.class_batches import ClassBatches
from cutaway.data.images.image_data import ImageRows


def rows(counts: list[int]) -> ImageRows:
    """Images whose first pixel is their class and whose second is their number in it."""
    targets = np.repeat(np.arange(len(counts)), counts)
    pixels = np.zeros((len(targets), 1, 3, 3), np.uint8)
    pixels[:, 0, 0, 0] = targets
    pixels[:, 0, 0, 1] = np.concatenate([np.arange(n) for n in counts])
    mixed = np.random.default_rng(0).permutation(len(targets))
    return ImageRows(pixels, mixed, targets[mixed], np.array([str(i) for i in mixed], object))


def test_different_images_of_different_classes():
    stream = ClassBatches(rows([5, 3, 4, 2, 7]), ways=4, shots=2, seed=1, turns=False)
    seen = set()
    for step in range(30):
        batch = stream.at(step)
        assert batch.pixels.shape == (4, 2, 1, 3, 3)
        assert len(set(batch.targets)) == 4
        assert (batch.pixels[:, :, 0, 0, 0] == batch.targets[:, None]).all()
        assert (batch.pixels[:, 0, 0, 0, 1] != batch.pixels[:, 1, 0, 0, 1]).all()
        seen.update(map(tuple, batch.pixels[:, :, 0, 0, :2].reshape(-1, 2).tolist()))
    assert len(seen) == 21  # every image comes


def test_turned_classes_are_classes_of_their_own():
    stream = ClassBatches(rows([3, 3]), ways=8, shots=2)
    batch = stream.at(0)
    assert sorted(zip(batch.targets.tolist(), batch.turns.tolist(), strict=True)) == [
        (c, t) for c in range(2) for t in range(4)
    ]
    for pixels, target, turn in zip(*batch, strict=True):
        upright = np.rot90(pixels, -turn, (-2, -1))
        assert (upright[:, 0, 0, 0] == target).all()


def test_a_function_of_seed_and_step_in_shares():
    whole = ClassBatches(rows([4] * 6), 6, 3, seed=5).at(9)
    again = ClassBatches(rows([4] * 6), 6, 3, seed=5).at(9)
    shares = [ClassBatches(rows([4] * 6), 6, 3, seed=5, rank=r, world=2).at(9) for r in range(2)]
    np.testing.assert_array_equal(whole.pixels, again.pixels)
    np.testing.assert_array_equal(whole.pixels, np.concatenate([share.pixels for share in shares]))
    assert (ClassBatches(rows([4] * 6), 6, 3, seed=6).at(9).pixels != whole.pixels).any()


def test_single_images_come_twice():
    batch = ClassBatches(rows([1, 1, 2]), 3, 2, turns=False).at(0)
    assert (batch.pixels[:, :, 0, 0, 0] == batch.targets[:, None]).all()


def test_too_few_classes():
    with pytest.raises(ValueError, match=r"got ways=9 for 2 classes in four turns; give more classes or lower ways"):
        ClassBatches(rows([3, 3]), 9)
