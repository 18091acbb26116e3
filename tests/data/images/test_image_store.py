from pathlib import Path

import numpy as np
import pytest
from pictures import make_classes

from cutaway.data.cache import cache_folder
from cutaway.data.images import image_store
from cutaway.data.images.image_sources import open_images
from cutaway.data.images.image_store import Frame, store_images


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUTAWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(image_store, "_OPEN", {})


def test_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = open_images(make_classes(tmp_path / "pets"))
    first = store_images(source, Frame())
    image_store._OPEN.clear()
    monkeypatch.setattr(image_store, "decode", lambda *_: pytest.fail("decoded a second time"))
    again = store_images(source, Frame())
    np.testing.assert_array_equal(first.pixels, again.pixels)
    assert isinstance(again.pixels, np.memmap)


def test_a_damaged_entry_is_made_anew(tmp_path: Path):
    source = open_images(make_classes(tmp_path / "pets"))
    before = np.array(store_images(source, Frame()).pixels)
    image_store._OPEN.clear()
    (path,) = (cache_folder() / "images").glob("*/pixels.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    np.testing.assert_array_equal(store_images(source, Frame()).pixels, before)


def test_arrays_are_resized_and_turned_grey():
    x = np.random.default_rng(0).integers(0, 256, (3, 10, 10, 3), dtype=np.uint8)
    store = store_images(open_images(x), Frame(size=5, channels=1))
    assert store.pixels.shape == (3, 1, 5, 5)
    assert store.pixels.mean() == pytest.approx((x @ [0.299, 0.587, 0.114]).mean(), abs=1.5)
    assert store.notes == ("all are 10×10 pixels and become 5×5; to choose: --size",)
