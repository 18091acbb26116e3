r"""Images decoded once: one array of bytes (n, c, h, w) in the cache, mapped into memory.

pixels.npy      the images that could be decoded, in order
images.json     which of the source's images those are, what had to be changed, which are damaged

The entry's name is a digest of the files' content, size, channels and fit: other data never meets it.
"""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from jaxtyping import Int, UInt8

from cutaway.atomic_files import read_json, write_json
from cutaway.data.cache import cached
from cutaway.data.images.decoding import DamagedImageError, Look, as_array, decode, look_at, opened_image, pillow
from cutaway.data.images.image_sizes import Fit, choose_size, expect_size, fit_to, size_notes
from cutaway.data.images.image_sources import ImageSource

_VERSION = 1  # of the rules of decoding
_COLOURS = {1: "grey", 3: "in colour"}


class Frame(NamedTuple):
    """What all images are brought to; 0 stands for what fits them."""

    size: int = 0
    channels: int = 0
    fit: Fit = "crop"
    shape: tuple[int, int] | None = None  # (height, width), if it is fixed already


class ImageStore:
    """The decoded images of a source: ``pixels``, and ``rows``, the place of each in the source."""

    def __init__(self, folder: Path) -> None:
        about = read_json(folder / "images.json", "rows", "notes", "damaged")
        self.pixels: UInt8[np.ndarray, "n c h w"] = np.load(folder / "pixels.npy", mmap_mode="r", allow_pickle=False)
        self.rows: Int[np.ndarray, "n"] = np.array(about["rows"], np.int64)
        self.notes: tuple[str, ...] = tuple(about["notes"])
        self.damaged: Mapping[str, str] = about["damaged"]


_OPEN: "WeakValueDictionary[str, ImageStore]" = WeakValueDictionary()


def expect_frame(frame: Frame) -> None:
    """Size and channels must be some that images can have."""
    expect_size(frame.size)
    if frame.channels not in (0, 1, 3):
        raise ValueError(
            f"channels must be 1 (grey) or 3 (colour), got {frame.channels}; leave it out for those of the images"
        )


def store_images(source: ImageSource, frame: Frame) -> ImageStore:
    """The decoded images, from the cache if they were decoded before."""
    expect_frame(frame)
    key = {"images": source.key(), "frame": list(frame), "version": _VERSION, "pillow": _pillow_version(source)}
    known = _OPEN.get(repr(key))
    if known is None:
        folder = cached("images", key, lambda part: _build(part, source, frame), _is_sound)
        known = _OPEN[repr(key)] = ImageStore(folder)
    return known


def _pillow_version(source: ImageSource) -> str:
    if source.pixels is not None:
        return ""
    return str(pillow().__version__)


def _is_sound(folder: Path) -> bool:
    try:
        store = ImageStore(folder)
    except (OSError, ValueError):
        return False
    return store.pixels.ndim == 4 and len(store.pixels) == len(store.rows)


def _build(folder: Path, source: ImageSource, frame: Frame) -> None:
    if source.pixels is not None:
        _build_from_array(folder, source.pixels(), frame)
    else:
        _build_from_files(folder, source, frame)


def _build_from_array(folder: Path, pixels: UInt8[np.ndarray, "n c h w"], frame: Frame) -> None:
    own = pixels.shape[2:]
    shape = frame.shape or choose_size([(own[0], own[1])], frame.size)
    look = Look(own[0], own[1], pixels.shape[1] == 3)
    notes = size_notes([look], shape, frame.fit)
    channels = frame.channels or (1 if pixels.shape[1] == 1 or _is_grey(pixels) else 3)
    if channels != pixels.shape[1] or shape != tuple(own):
        made = np.empty((len(pixels), channels, *shape), np.uint8)
        mode = "L" if channels == 1 else "RGB"
        for i, one in enumerate(pixels):
            image = pillow().fromarray(one[0] if len(one) == 1 else np.ascontiguousarray(one.transpose(1, 2, 0)))
            made[i] = as_array(fit_to(image.convert(mode), shape, frame.fit))
        pixels = made
    _save(folder / "pixels.npy", pixels)
    _write_about(folder, list(range(len(pixels))), notes, {})


def _save(path: Path, pixels: UInt8[np.ndarray, "n c h w"]) -> None:
    """Writes an array; one that is a file of the cache already gets a second name, which takes no room."""
    if isinstance(pixels, np.memmap) and pixels.filename is not None:
        try:
            os.link(pixels.filename, path)
            return
        except OSError:  # a file system without links
            pass
    np.save(path, pixels)


def _build_from_files(folder: Path, source: ImageSource, frame: Frame) -> None:
    assert source.read is not None
    looks: dict[int, Look] = {}
    damaged: dict[str, str] = {}
    for i, name in enumerate(source.names):
        try:
            with opened_image(source.read(name)) as found:
                looks[i] = look_at(found)
        except DamagedImageError as reason:
            damaged[name] = str(reason)
    if not looks:
        first = next(iter(damaged.items()))
        raise ValueError(
            f"there must be an image that can be read, got {len(damaged):,} damaged file{'s' * (len(damaged) > 1)} in "
            f"{source.name} (the first is {first[0]}: {first[1]}); copy the images again"
        )
    shape = frame.shape or choose_size([(look.height, look.width) for look in looks.values()], frame.size)
    channels = frame.channels or (3 if any(look.colour for look in looks.values()) else 1)
    told: Counter[str] = Counter()
    pixels = np.lib.format.open_memmap(folder / "pixels.npy", "w+", np.dtype(np.uint8), (len(looks), channels, *shape))
    rows: list[int] = []
    for i in looks:
        name = source.names[i]
        try:
            with opened_image(source.read(name)) as found:
                pixels[len(rows)] = as_array(fit_to(decode(found, channels, told, shape), shape, frame.fit))
        except DamagedImageError as reason:
            damaged[name] = str(reason)
            continue
        rows.append(i)
    whole = np.asarray(pixels[: len(rows)])
    grey = not frame.channels and channels == 3 and len(rows) > 0 and _is_grey(whole)
    if grey or len(rows) < len(looks):
        whole = whole[:, :1].copy() if grey else whole.copy()
        del pixels
        np.save(folder / "pixels.npy", whole)
    else:
        pixels.flush()
    notes = size_notes([looks[i] for i in rows], shape, frame.fit) if rows else []
    _write_about(folder, rows, notes + _change_notes(told, looks, rows, channels, grey), damaged)


def _is_grey(pixels: UInt8[np.ndarray, "n c h w"]) -> bool:
    """Whether all channels say the same."""
    return all(bool((one[:1] == one[1:]).all()) for one in pixels)


def _change_notes(told: Counter[str], looks: dict[int, Look], rows: list[int], channels: int, grey: bool) -> list[str]:
    notes = [f"{count:,} {what}" for what, count in told.items()]
    colour = sum(looks[i].colour for i in rows)
    if grey:
        notes.append("files in colour that hold greys alone: 1 channel is kept")
    elif channels == 3 and 0 < colour < len(rows):
        notes.append(f"{len(rows) - colour:,} grey images among {colour:,} in colour: all have 3 channels")
    elif channels == 1 and colour:
        notes.append(f"{colour:,} images in colour are made grey")
    return notes


def _write_about(folder: Path, rows: list[int], notes: list[str], damaged: dict[str, str]) -> None:
    about: dict[str, Any] = {"rows": rows, "notes": notes, "damaged": damaged}
    write_json(folder / "images.json", about)


__all__ = ["Frame", "ImageStore", "expect_frame", "store_images"]
