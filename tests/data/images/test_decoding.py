"""Each thing that image files differ in, by its rule."""

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pictures import small_image
from PIL import Image

from cutaway.data.images.decoding import DamagedImageError, as_array, decode, image_endings, look_at, opened_image


def read(path: Path | bytes, channels: int = 3) -> tuple[np.ndarray, Counter[str]]:
    told: Counter[str] = Counter()
    with opened_image(path) as found:
        return as_array(decode(found, channels, told)), told


@pytest.mark.parametrize("ending", [".png", ".bmp", ".tif", ".ppm", ".webp", ".tga", ".gif"])
def test_formats_without_loss_come_back_as_they_were(tmp_path: Path, ending: str):
    image = small_image(mode="L")
    image.convert("L" if ending in (".png", ".bmp", ".tif", ".tga", ".gif") else "RGB").save(
        tmp_path / f"a{ending}", **({"lossless": True} if ending == ".webp" else {})
    )
    pixels, _ = read(tmp_path / f"a{ending}", 1)
    np.testing.assert_array_equal(pixels[0], np.asarray(image))
    assert ending in image_endings()


@pytest.mark.parametrize(
    ("orientation", "turned"),
    [
        (2, lambda x: x[:, ::-1]),
        (3, lambda x: x[::-1, ::-1]),
        (4, lambda x: x[::-1]),
        (5, lambda x: x.T),
        (6, lambda x: np.rot90(x, -1)),
        (7, lambda x: np.rot90(x, 2).T),
        (8, lambda x: np.rot90(x)),
    ],
)
def test_exif_orientation(tmp_path: Path, orientation: int, turned):
    image = small_image(mode="L")
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(tmp_path / "a.png", exif=exif)
    pixels, told = read(tmp_path / "a.png", 1)
    np.testing.assert_array_equal(pixels[0], turned(np.asarray(image)))
    assert told == {"turned upright as their EXIF tag says": 1}
    with opened_image(tmp_path / "a.png") as found:
        assert look_at(found)[:2] == pixels.shape[1:]


def test_palette_gives_its_colours(tmp_path: Path):
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putdata([0, 1])
    image.save(tmp_path / "a.png")
    pixels, told = read(tmp_path / "a.png")
    assert pixels[:, 0].T.tolist() == [[255, 0, 0], [0, 0, 255]]
    assert told == {"with a palette: its colours are taken": 1}


def test_transparency_is_put_on_white(tmp_path: Path):
    image = Image.new("RGBA", (3, 1))
    image.putdata([(0, 0, 0, 255), (0, 0, 0, 0), (0, 0, 0, 51)])
    image.save(tmp_path / "a.png")
    pixels, told = read(tmp_path / "a.png")
    assert pixels[0, 0].tolist() == [0, 255, 204]  # 51 is a fifth: 0.2 · 0 + 0.8 · 255
    assert told == {"with transparency: put on white": 1}
    Image.new("RGBA", (3, 1), (9, 9, 9, 255)).save(tmp_path / "b.png")
    assert read(tmp_path / "b.png")[1] == {}  # an alpha channel that hides nothing


def test_sixteen_bits_divided_by_257(tmp_path: Path):
    Image.fromarray(np.array([[0, 257, 65535, 32896]], np.uint16)).save(tmp_path / "a.png")
    pixels, told = read(tmp_path / "a.png", 1)
    assert pixels[0, 0].tolist() == [0, 1, 255, 128]
    assert told == {"of 16 bits a pixel: divided by 257": 1}


def test_fractions_and_large_numbers(tmp_path: Path):
    Image.fromarray(np.array([[0.0, 0.5, 1.0]], np.float32)).save(tmp_path / "share.tif")
    Image.fromarray(np.array([[-10.0, 0.0, 30.0]], np.float32)).save(tmp_path / "range.tif")
    assert read(tmp_path / "share.tif", 1)[0][0, 0].tolist() == [0, 128, 255]
    pixels, told = read(tmp_path / "range.tif", 1)
    assert pixels[0, 0].tolist() == [0, 64, 255]
    assert told == {"of 32 bits a pixel: stretched from their least value to their largest": 1}


def test_first_of_several_frames(tmp_path: Path):
    frames = [Image.new("L", (4, 4), shade) for shade in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    pixels, told = read(tmp_path / "a.gif", 1)
    assert (pixels == 10).all()
    assert told["with several frames: the first is taken"] == 1


def test_damage_is_told(tmp_path: Path):
    file = io.BytesIO()
    small_image(size=(64, 64)).save(file, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(file.getvalue()[: len(file.getvalue()) // 2])
    with pytest.raises(DamagedImageError, match="truncated"):
        read(tmp_path / "cut.jpg")
    (tmp_path / "empty.png").write_bytes(b"")
    with pytest.raises(DamagedImageError, match="it is empty"):
        read(tmp_path / "empty.png")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\n<!DOCTYPE html><html></html>", "it is an HTML page, whatever it is called"),
        (b"\xef\xbb\xbf<HTML>", "it is an HTML page"),
        (b'{"error": 404}', "it is JSON"),
        (b"%PDF-1.4", "it is a PDF document"),
        (b"<svg xmlns=''></svg>", "it is an SVG drawing"),
        (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "it is an HEIC photo; save it as JPEG or PNG"),
        (b"hello", "not an image, or one that begins damaged"),
    ],
)
def test_what_is_no_image_is_named(tmp_path: Path, content: bytes, kind: str):
    (tmp_path / "photo.jpg").write_bytes(content)
    for source in (tmp_path / "photo.jpg", content):
        with pytest.raises(DamagedImageError, match=kind):
            read(source)


def test_the_limit_on_pixels_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small_image(size=(20, 20)).save(tmp_path / "a.png")
    for limit in (300, 100):  # Pillow warns above its limit and refuses above twice that
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(DamagedImageError, match=f"more than {limit} pixels"):
            read(tmp_path / "a.png")


def test_no_other_program_is_run_for_postscript(tmp_path: Path):
    small_image().save(tmp_path / "a.eps")
    assert ".eps" not in image_endings()
    with pytest.raises(DamagedImageError, match="not an image"):
        read(tmp_path / "a.eps")
