r"""Images in the forms that they come in, each as a source: names, labels, parts, and how to have the pixels.

a folder or a zip      a sub-folder a class; or images without labels; or images and one table that labels them
a table                CSV, TSV, JSON lines, Parquet: a column of files, a column of labels
idx files              one of images, one of labels, beside each other; or the folder of both
.npz, .npy             arrays by their names
in memory              an array, (images, labels), a dict of arrays, a torch data set
"""

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.atomic_files import read_json, write_json
from cutaway.data.cache import cached, recall_fingerprint, remember_fingerprint
from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_bytes, fingerprint_files, refresh
from cutaway.data.images.idx_files import find_pairs, is_idx, read_idx
from cutaway.data.images.image_arrays import LabelledArray, as_images, as_labels, from_memory, joined, read_array_file
from cutaway.data.images.image_files import ImageFiles, begins_like_a_zip, files_by_name, files_in_folder, files_in_zip
from cutaway.data.images.image_folders import Level, labels_by_folder
from cutaway.data.images.image_lists import read_image_list
from cutaway.data.stored import Stored
from cutaway.data.tables.endings import TEXT_TABLES

_ARRAYS = (".npz", ".npy")
_PACKED = (".gz", ".xz", ".bz2")
_TARS = (".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2")


@dataclass(frozen=True)
class ImageForm:
    """How to read images: the column of labels in a table, which folder names the class, a table's encoding, and
    whether a table must have labels."""

    target: str = ""
    level: Level = "first"
    encoding: str = "utf-8"
    labelled: bool = True


@dataclass(frozen=True)
class ImageSource:
    """Images that are not decoded yet: their names, labels and parts, and either files to read or a function that
    makes the whole array."""

    name: str
    names: tuple[str, ...]
    labels: tuple[str | None, ...]
    parts: tuple[str, ...]
    fingerprint: Fingerprint
    read: Callable[[str], Path | bytes] | None = None
    pixels: Callable[[], np.ndarray] | None = None
    notes: tuple[str, ...] = ()

    def key(self) -> str:
        """A digest of what the pixels follow from."""
        listed = "\n".join(self.names)
        return hashlib.sha256(f"{self.fingerprint.digest}\n{listed}".encode(errors="surrogateescape")).hexdigest()


def open_images(data: Any, form: ImageForm | None = None) -> ImageSource:
    """The images of a path, of a list of paths, or in memory."""
    form = form or ImageForm()
    if isinstance(data, ImageSource):
        return data
    if isinstance(data, Stored):
        return _from_stored(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return from_files(files_by_name(data), form)
    if not isinstance(data, (str, os.PathLike)):
        return _from_array(from_memory(data), "images in memory")
    path = Path(data).expanduser()
    if path.is_dir():
        return _from_folder(path, form)
    find_files(path)  # must be there
    name = path.name.lower()
    plain = next((name.removesuffix(ending) for ending in _PACKED if name.endswith(ending)), name)
    if name.endswith(_TARS):
        raise ValueError(
            f"images come in a folder, a zip or a file of arrays, got {path.name}; unpack it and give the folder"
        )
    if plain.endswith(_ARRAYS):
        return _of_arrays(path.name, {path.name: path}, lambda: read_array_file(path))
    if is_idx(path):
        return _from_idx(path.name, [one for one in path.parent.iterdir() if is_idx(one)], path)
    if plain.endswith(TEXT_TABLES):
        return _from_table(path, form)
    if plain.endswith(".zip") or zipfile.is_zipfile(path) or begins_like_a_zip(path):
        return from_files(files_in_zip(path), form)
    return from_files(files_by_name([path]), form)


def from_files(files: ImageFiles, form: ImageForm, known: Fingerprint | None = None) -> ImageSource:
    """Image files with the class that their folder says."""
    if not files.names:
        left = "; ".join(files.notes())
        raise ValueError(
            f"there must be an image, got none in {files.name}{f' ({left})' if left else ''}; give a folder of images, "
            "a table of their paths, idx files or an .npz"
        )
    labels, parts = labels_by_folder(files.names, form.level)
    return ImageSource(
        files.name,
        files.names,
        tuple(labels),
        tuple(parts),
        files.fingerprint(known),
        files.read,
        notes=tuple(files.notes()),
    )


def _from_folder(path: Path, form: ImageForm) -> ImageSource:
    beside = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    if any(is_idx(file) for file in beside):
        return _from_idx(path.name, beside, None)
    files = files_in_folder(path)
    endings = tuple(ending for ending in TEXT_TABLES if ending != ".json")
    tables = [path / name for name in files.others if name.lower().endswith(endings)]
    unlabelled = not any(labels_by_folder(files.names, form.level)[0])
    if len(tables) == 1 and files.names and unlabelled:
        return _from_table(tables[0], form)
    if not files.names and len(beside) == 1 and beside[0].suffix.lower() in _ARRAYS:
        return open_images(beside[0], form)
    return _remembered(path, lambda known: from_files(files, form, known))


def _remembered(path: Path, make: Callable[[Fingerprint | None], ImageSource]) -> ImageSource:
    """A source whose fingerprint is taken from the cache while sizes and times of its files are as they were."""
    known = recall_fingerprint(path)
    source = make(known)
    if source.fingerprint != known:
        remember_fingerprint(path, source.fingerprint)
    return source


def _from_table(path: Path, form: ImageForm) -> ImageSource:
    found = read_image_list(path, form.target, form.encoding, form.labelled)
    files = {path.name: path} | found.paths

    def make(known: Fingerprint | None) -> ImageSource:
        return ImageSource(
            path.name,
            tuple(found.paths),
            tuple(found.labels),
            tuple(found.parts),
            refresh(known, files),
            lambda name: found.paths[name],
            notes=tuple(found.notes),
        )

    return _remembered(path, make)


def _from_idx(name: str, files: Sequence[Path], chosen: Path | None) -> ImageSource:
    pairs = find_pairs(files)
    if chosen is not None:  # a file by name: its own pair alone
        pairs = {part: pair for part, pair in pairs.items() if chosen in pair.values()}
    if set(pairs) != {"train", "test"}:
        (pair,) = pairs.values()
        pairs = {"": pair}
    listed = {path.name: path for pair in pairs.values() for path in pair.values()}

    def read() -> LabelledArray:
        pieces = []
        for part, pair in pairs.items():
            pixels = as_images(read_idx(pair["images"]), pair["images"].name)
            labels = as_labels(read_idx(pair["labels"]) if "labels" in pair else None, len(pixels), name)
            pieces.append(LabelledArray(pixels, labels, (part,) * len(pixels)))
        return joined(pieces)

    return _of_arrays(name, dict(sorted(listed.items())), read)


def _of_arrays(name: str, files: dict[str, Path], read: Callable[[], LabelledArray]) -> ImageSource:
    """The arrays of files, unpacked once into the cache."""
    fingerprint = fingerprint_files(files)

    def build(folder: Path) -> None:
        found = read()
        np.save(folder / "pixels.npy", found.pixels)
        write_json(folder / "labels.json", {"labels": found.labels, "parts": found.parts})

    key = {"arrays": fingerprint.digest, "files": list(files), "version": 1}
    folder = cached("image-arrays", key, build, lambda found: (found / "labels.json").is_file())
    about = read_json(folder / "labels.json", "labels", "parts")
    pixels = np.load(folder / "pixels.npy", mmap_mode="r", allow_pickle=False)
    return _from_array(LabelledArray(pixels, tuple(about["labels"]), tuple(about["parts"])), name, fingerprint)


def _from_stored(held: Stored) -> ImageSource:
    """The images of an .npz file that is held in memory."""
    with np.load(io.BytesIO(held.content), allow_pickle=False) as arrays:
        found = from_memory({key: arrays[key] for key in arrays.files}, held.shown)
    return _from_array(found, held.shown, held.fingerprint())


def _from_array(found: LabelledArray, name: str, fingerprint: Fingerprint | None = None) -> ImageSource:
    if fingerprint is None:
        told = repr((found.pixels.shape, found.labels)).encode()
        fingerprint = fingerprint_bytes(found.pixels.tobytes() + told)
    count = len(found.pixels)
    return ImageSource(
        name,
        tuple(f"image {i:,}" for i in range(1, count + 1)),
        found.labels,
        found.parts,
        fingerprint,
        pixels=lambda: found.pixels,
    )


__all__ = ["ImageForm", "ImageSource", "from_files", "open_images"]
