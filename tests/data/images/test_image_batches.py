import numpy as np

from cutaway.data.images.image_batches import ImageBatches, every_image
from cutaway.data.images.image_data import read_images

DIGITS = read_images("digits", labelled=True)


def test_every_image_once_an_epoch_with_its_class():
    stream = ImageBatches(DIGITS.train, 100, seed=3)
    seen = [stream.at(step) for step in range(15)]
    assert seen[0].pixels.shape == (100, 1, 8, 8)
    first = np.concatenate([batch.pixels for batch in seen])[: len(DIGITS.train)]
    assert first.sum() == DIGITS.train.pixels().sum()
    assert sorted(map(bytes, first)) == sorted(map(bytes, DIGITS.train.pixels()))
    target = {bytes(x): y for x, y in zip(DIGITS.train.pixels(), DIGITS.train.targets, strict=True)}
    assert all(target[bytes(x)] == y for batch in seen for x, y in zip(*batch, strict=True))


def test_a_batch_is_a_function_of_seed_and_step():
    a, b = (ImageBatches(DIGITS.train, 32, seed=1) for _ in range(2))
    for _ in range(7):
        next(a)
    b.restore({"step": 7})
    np.testing.assert_array_equal(next(a).pixels, next(b).pixels)
    shares = [ImageBatches(DIGITS.train, 32, 1, rank, 2).at(5).pixels for rank in range(2)]
    np.testing.assert_array_equal(np.concatenate(shares), b.at(5).pixels)


def test_every_image_in_order():
    whole = np.concatenate([batch.pixels for batch in every_image(DIGITS.train, 500)])
    np.testing.assert_array_equal(whole, DIGITS.train.pixels())
