r"""One image file → an array of bytes, by a fixed rule for each thing that files differ in.

    orientation    turned as its EXIF tag says
    palette        its colours
    transparency   put on white
    16 bits        v / 257;  32 bits or fractions: from their least value to their largest, unless they lie in 0–255
    several frames the first

Pillow reads the files. Formats that it opens by running another program are left out (a PostScript file is one), and
its limit on the number of pixels, which guards against small files that unpack to gigabytes, is kept.
"""

import io
import struct
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from cutaway.extras import need

if TYPE_CHECKING:
    from PIL.Image import Image

_NO_PIXELS = {"EPS", "PDF", "WMF", "MPEG", "HDF5", "GRIB", "BUFR"}  # drawings, films and formats that Pillow passes on
_TURNED = range(2, 9)  # EXIF orientations other than upright; from 5 on, width and height change places
_GREY = ("1", "L", "LA", "La", "I", "F")
_ORIENTATION = 0x0112
_FAILURES = (
    OSError,
    ValueError,
    SyntaxError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RuntimeError,
    struct.error,
    zlib.error,
    Warning,
)


_OTHER_KINDS = {  # how files begin that are saved as images by mistake, in lower case
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
    b"<head": "an HTML page",
    b"<svg": "an SVG drawing",
    b"<?xml": "XML",
    b"{": "JSON",
    b"%pdf": "a PDF document",
    b"pk\x03\x04": "a zip",
    b"\x1f\x8b": "packed by gzip",
    b"version https://git-lfs": "a pointer of Git LFS without its content",
}
_HEIC = (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc")


class DamagedImageError(ValueError):
    """A file that is no whole image; its text is the reason."""


class Look(NamedTuple):
    """What the head of a file tells: its size as it will be shown, and whether it may hold colours."""

    height: int
    width: int
    colour: bool


def pillow() -> Any:
    """Pillow's module of images."""
    return need("PIL.Image", "images", "reading images")


def image_endings() -> frozenset[str]:
    """Endings of files that are read as images: ".png", ".jpg" …"""
    image = pillow()
    kinds = image.registered_extensions()
    return frozenset(ending for ending, kind in kinds.items() if kind in image.OPEN and kind not in _NO_PIXELS)


@contextmanager
def opened_image(source: Path | bytes) -> "Iterator[Image]":
    """A file, or its bytes, as Pillow's image; whatever goes wrong inside the block is a `DamagedImageError`."""
    image = pillow()
    image.init()
    formats = [kind for kind in image.OPEN if kind not in _NO_PIXELS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image.DecompressionBombWarning)
        try:
            with image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=formats) as found:
                yield found
        except image.UnidentifiedImageError:
            raise DamagedImageError(_other_kind(source) or "not an image, or one that begins damaged") from None
        except (image.DecompressionBombError, image.DecompressionBombWarning):
            limit = f"{image.MAX_IMAGE_PIXELS:,}"
            raise DamagedImageError(f"more than {limit} pixels, which could be a trap that fills the memory") from None
        except _FAILURES as error:
            told = " ".join(str(error).split())
            raise DamagedImageError(told if isinstance(error, (OSError, ValueError)) and told else "damaged") from None


def _other_kind(source: Path | bytes) -> str:
    """What a file is that is no image, by its first bytes; nothing where they do not tell."""
    if isinstance(source, bytes):
        start = source[:512]
    else:
        with open(source, "rb") as file:
            start = file.read(512)
    if not start:
        return "it is empty"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for begins, kind in _OTHER_KINDS.items():
        if text.startswith(begins):
            return f"it is {kind}, whatever it is called"
    return "it is an HEIC photo; save it as JPEG or PNG" if start[4:12] in _HEIC else ""


def look_at(found: "Image") -> Look:
    """Size and colour by the head of a file, which costs next to nothing."""
    width, height = found.size
    if found.getexif().get(_ORIENTATION) in (5, 6, 7, 8):
        width, height = height, width
    return Look(height, width, not found.mode.startswith(_GREY) or found.mode == "LAB")


def decode(found: "Image", channels: int, told: Counter[str], aim: tuple[int, int] | None = None) -> "Image":
    """An image in mode L (``channels`` 1) or RGB (3), upright; ``told`` counts what had to be changed.

    ``aim``: (height, width) that it will be made small to; a JPEG is then unpacked at the least size above that.
    """
    from PIL import ImageOps

    if getattr(found, "n_frames", 1) > 1:
        told["with several frames: the first is taken"] += 1
        found.seek(0)
    mode = "L" if channels == 1 else "RGB"
    if aim is not None and found.format == "JPEG":
        found.draft(mode, (2 * max(aim), 2 * max(aim)))
    if found.getexif().get(_ORIENTATION) in _TURNED:
        told["turned upright as their EXIF tag says"] += 1
        found = ImageOps.exif_transpose(found)
    if found.mode.startswith(("I", "F")):
        found = _in_bytes(found, told)
    if found.mode == "P" or found.mode == "PA":
        told["with a palette: its colours are taken"] += 1
    if found.has_transparency_data:
        found = _on_white(found, told)
    return found if found.mode == mode else found.convert(mode)


def _in_bytes(found: "Image", told: Counter[str]) -> "Image":
    """Pixels of more than 8 bits in 8."""
    values = np.asarray(found)
    if found.mode.startswith("I;16"):
        told["of 16 bits a pixel: divided by 257"] += 1
        return pillow().fromarray((values.astype(np.float32) / 257).round().astype(np.uint8))
    if not np.isfinite(values).all():
        raise DamagedImageError("a pixel that is not a finite number")
    least, most = float(values.min()), float(values.max())
    if least < 0 or most > 255 or (values.dtype.kind == "f" and most <= 1):
        if not (least >= 0 and most <= 1):
            told["of 32 bits a pixel: stretched from their least value to their largest"] += 1
            values = (values - least) / max(most - least, 1e-12)
        values = values * 255.0
    return pillow().fromarray(values.round().astype(np.uint8))


def _on_white(found: "Image", told: Counter[str]) -> "Image":
    whole = found.convert("RGBA")
    if whole.getchannel("A").getextrema() == (255, 255):  # an alpha channel that hides nothing
        return whole
    told["with transparency: put on white"] += 1
    ground = pillow().new("RGBA", whole.size, "white")
    ground.alpha_composite(whole)
    return ground


def as_array(found: "Image") -> UInt8[np.ndarray, "c h w"]:
    """The pixels of an image in mode L or RGB."""
    pixels = np.asarray(found, np.uint8)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


__all__ = ["DamagedImageError", "Look", "as_array", "decode", "image_endings", "look_at", "opened_image", "pillow"]
