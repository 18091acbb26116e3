r"""Arrays as images: from memory, from .npy and .npz files, in the layouts and number types that people have them in.

    (n, h, w), (n, h, w, c), (n, c, h, w)          with c one of 1, 3, 4; if both fit: NumPy's last, torch's first
    uint8  as it is     bool  0, 255     uint16  v / 257     float in 0–1  255 v     numbers in 0–255  rounded

An .npz holds images and labels by these names, or those of train, validation and test apart (as Keras's mnist.npz and
MedMNIST's files do): images, x, data; labels, y, targets; x_train, train_images, x_test, test_labels …
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from cutaway.data.files import open_plain
from cutaway.data.images.decoding import as_array, decode

_PARTS = {"train": "train", "val": "validation", "valid": "validation", "validation": "validation", "test": "test"}
_IMAGES, _LABELS = ("images", "image", "x", "data", "inputs"), ("labels", "label", "y", "targets", "target", "classes")


class LabelledArray(NamedTuple):
    """Images as bytes, the label of each as text (None: unknown), and the part each belongs to ("": to be split)."""

    pixels: UInt8[np.ndarray, "n c h w"]
    labels: tuple[str | None, ...]
    parts: tuple[str, ...]


def as_images(values: Any, name: str) -> UInt8[np.ndarray, "n c h w"]:
    """An array, a tensor, or a list of arrays or Pillow images of one size, as bytes."""
    if isinstance(values, (list, tuple)) and values and hasattr(values[0], "convert"):
        values = np.stack([_of_pillow(one, name, values[0].size) for one in values])
    tensor = hasattr(values, "detach")
    if tensor:
        values = values.detach().cpu().numpy()
    try:
        x = np.asarray(values)
    except ValueError:
        x = np.empty(0, object)
    if x.dtype == object:
        raise ValueError(f"images in an array must be of one size, got different ones in {name}; resize them first")
    if x.ndim == 4 and x.shape[-1] in (1, 3, 4) and not (tensor and x.shape[1] in (1, 3, 4)):
        x = x.transpose(0, 3, 1, 2)
    elif x.ndim == 3:
        x = x[:, None]
    if x.ndim != 4 or x.shape[1] not in (1, 3, 4) or 0 in x.shape:
        shape = " × ".join(map(str, np.shape(x if x.ndim != 4 else values)))
        way = "reshape them, as in x.reshape(-1, 28, 28)" if x.ndim == 2 else "bring them into one of these layouts"
        raise ValueError(
            f"images must have shape (n, height, width), (n, height, width, channels) or (n, channels, height, width), "
            f"got {shape or 'a number'} in {name}; {way}"
        )
    x = in_bytes(x, name)
    if x.shape[1] == 4:
        alpha = x[:, 3:].astype(np.float32) / 255
        x = (x[:, :3] * alpha + 255 * (1 - alpha)).round().astype(np.uint8)  # on white, as files are
    return np.ascontiguousarray(x)


def _of_pillow(one: Any, name: str, size: tuple[int, int]) -> np.ndarray:
    from collections import Counter

    if one.size != size:
        raise ValueError(
            f"images in a list must be of one size, got {size[0]}×{size[1]} and {one.size[0]}×{one.size[1]} in {name}; "
            "resize them, or give a folder of files"
        )
    return as_array(decode(one, 3, Counter()))


def in_bytes(x: np.ndarray, name: str) -> np.ndarray:
    """Numbers from 0 to 255, by the rules above."""
    if x.dtype == np.uint8:
        return x
    if x.dtype == bool:
        return x.astype(np.uint8) * np.uint8(255)
    if x.dtype.kind not in "iuf":
        raise ValueError(f"pixels must be numbers, got {x.dtype} in {name}; convert them to uint8")
    least, most = x.min(), x.max()
    if not (np.isfinite(least) and np.isfinite(most)):
        raise ValueError(f"pixels must be finite numbers, got NaN or infinity in {name}; replace them first")
    if x.dtype == np.uint16 and most > 255:
        return (x.astype(np.float32) / 257).round().astype(np.uint8)
    if least < 0 or most > 255:
        raise ValueError(
            f"pixels must lie in 0–1 or 0–255, got {float(least):.4g} to {float(most):.4g} in {name}; scale them, as "
            "in (x - x.min()) / (x.max() - x.min())"
        )
    if x.dtype.kind == "f" and most <= 1:
        x = x * np.float32(255)
    return np.rint(x).astype(np.uint8)


def as_labels(values: Any, count: int, name: str) -> tuple[str | None, ...]:
    """The label of each image as text; None where it is missing."""
    if values is None:
        return (None,) * count
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    y = np.asarray(values)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if (
        y.ndim == 2
        and y.shape[1] > 1
        and y.dtype.kind in "biuf"
        and (y.sum(1) == 1).all()
        and set(np.unique(y)) <= {0, 1}
    ):
        y = y.argmax(1)  # one-hot
    if y.ndim != 1 or len(y) != count:
        raise ValueError(
            f"there must be a label for each image, got labels of shape {y.shape} for {count:,} images in {name}; "
            "give as many of both"
        )
    return tuple(_label(value) for value in y.tolist())


def _label(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip() or None


def from_memory(data: Any, name: str = "images in memory") -> LabelledArray:
    """Images that the caller holds: an array, (images, labels), a dict of arrays, or a data set of such pairs."""
    if isinstance(data, Mapping):
        return _by_names({str(key): value for key, value in data.items()}, name)
    if isinstance(data, tuple) and len(data) == 2:
        pixels = as_images(data[0], name)
        return LabelledArray(pixels, as_labels(data[1], len(pixels), name), ("",) * len(pixels))
    if not hasattr(data, "shape") and hasattr(data, "__getitem__") and len(data) and isinstance(data[0], tuple):
        pairs = [data[i] for i in range(len(data))]  # a torch Dataset
        images = [one for one, *_ in pairs]
        if hasattr(images[0], "shape"):
            images = np.stack([np.asarray(one) for one in images])  # type: ignore[assignment]
        names = getattr(data, "classes", None)
        labels = [int(label) for _, label, *_ in pairs] if names is not None else [label for _, label, *_ in pairs]
        return from_memory((images, [names[i] for i in labels] if names is not None else labels), name)
    pixels = as_images(data, name)
    return LabelledArray(pixels, (None,) * len(pixels), ("",) * len(pixels))


def write_arrays(found: LabelledArray) -> bytes:
    """Images with their labels and parts as an .npz, which `read_array_file` reads to the same."""
    arrays = {}
    for part in dict.fromkeys(found.parts):
        here = np.array([one == part for one in found.parts])
        prefix = f"{part}_" if part else ""
        arrays[f"{prefix}images"] = found.pixels[here]
        labels = [label for label, one in zip(found.labels, here, strict=True) if one]
        if any(label is not None for label in labels):
            arrays[f"{prefix}labels"] = np.array([label or "" for label in labels], dtype=np.str_)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def read_array_file(path: Path) -> LabelledArray:
    """The images of an .npy or .npz file, packed or not."""
    try:
        if zipfile.is_zipfile(path):
            with np.load(path, allow_pickle=False) as arrays:
                return _by_names({key: arrays[key] for key in arrays.files}, path.name)
        with open_plain(path) as file:
            whole = io.BytesIO(b"".join(iter(lambda: file.read(1 << 20), b"")))
        return from_memory(np.load(whole, allow_pickle=False), path.name)
    except (OSError, EOFError, zipfile.BadZipFile, ValueError) as error:
        if isinstance(error, ValueError) and "; " in str(error):  # ours
            raise
        pickled = "pickle" in str(error) or "Object arrays" in str(error)
        told = "objects, which only unsafe code can open" if pickled else f"damage ({error})"
        way = "save plain arrays: np.savez(path, images=x, labels=y)" if pickled else "copy it again"
        raise ValueError(
            f"a file of arrays must hold whole arrays of numbers, got {path.name} with {told}; {way}"
        ) from None


def _by_names(arrays: dict[str, Any], name: str) -> LabelledArray:
    found: dict[str, dict[str, Any]] = {}
    for key, value in arrays.items():
        place = _place(key)
        if place is not None:
            found.setdefault(place[0], {}).setdefault(place[1], value)
    found = {part: pair for part, pair in found.items() if "images" in pair}
    if not found and {"arr_0"} <= set(arrays):  # np.savez(path, x, y)
        found = {"": {"images": arrays["arr_0"]} | ({"labels": arrays["arr_1"]} if "arr_1" in arrays else {})}
    if not found:
        raise ValueError(
            f"arrays of images must be called images and labels, or x_train, y_train, x_test, y_test, got "
            f"{', '.join(list(arrays)[:6]) or 'none'} in {name}; rename them"
        )
    pieces = []
    for part, pair in found.items():
        pixels = as_images(pair["images"], f"{name} ({part})" if part else name)
        labels = as_labels(pair.get("labels"), len(pixels), f"{name} ({part})" if part else name)
        pieces.append(LabelledArray(pixels, labels, (part,) * len(pixels)))
    if len({piece.pixels.shape[1:] for piece in pieces}) > 1:
        shapes = ", ".join(str(piece.pixels.shape[1:]) for piece in pieces)
        raise ValueError(f"all images of {name} must have one shape, got {shapes}; bring them to one")
    if set(found) == {"train"}:
        pieces = [pieces[0]._replace(parts=("",) * len(pieces[0].parts))]
    return joined(pieces)


def joined(pieces: list[LabelledArray]) -> LabelledArray:
    """Some arrays one after another."""
    pixels = pieces[0].pixels if len(pieces) == 1 else np.concatenate([piece.pixels for piece in pieces])
    return LabelledArray(
        pixels,
        tuple(label for piece in pieces for label in piece.labels),
        tuple(part for piece in pieces for part in piece.parts),
    )


def _place(key: str) -> tuple[str, str] | None:
    """The part and kind of an array by its name.

    >>> _place("x_train"), _place("val_labels"), _place("images"), _place("mean")
    (('train', 'images'), ('validation', 'labels'), ('', 'images'), None)
    """
    words = key.lower().replace("-", "_").split("_")
    parts = [_PARTS[word] for word in words if word in _PARTS]
    rest = [word for word in words if word not in _PARTS]
    if len(rest) != 1 or len(parts) > 1:
        return None
    part = parts[0] if parts else ""
    return (part, "images") if rest[0] in _IMAGES else (part, "labels") if rest[0] in _LABELS else None


__all__ = ["LabelledArray", "as_images", "as_labels", "from_memory", "joined", "read_array_file", "write_arrays"]
