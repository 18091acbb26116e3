r"""A table of paths and labels: each row names an image and its class.

    file,label
    photos/1.jpg,cat

The columns are found by their names, else by sight: the images are in the column whose entries are files, the labels in
the one with few different entries. Paths start at the table's folder; a bare name is looked for in the folders below
it, and may lack its ending (1 for photos/1.jpg).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cutaway.data.checks import nearest
from cutaway.data.images.decoding import image_endings
from cutaway.data.images.image_files import files_in_folder
from cutaway.data.tables.text_tables import read_columns

_FILES = (
    "file",
    "path",
    "image",
    "filename",
    "file_name",
    "filepath",
    "file_path",
    "image_path",
    "img",
    "image_id",
    "id",
)
_LABELS = ("label", "class", "target", "category", "y", "species", "diagnosis")
_PARTS = {"train": "train", "val": "validation", "valid": "validation", "validation": "validation", "test": "test"}


class ImageList(NamedTuple):
    """The files of a table, the label and part of each, the column of the labels, and what to know."""

    paths: dict[str, Path]
    labels: list[str | None]
    parts: list[str]
    target: str
    notes: list[str]


def read_image_list(path: Path, target: str = "", encoding: str = "utf-8", labelled: bool = True) -> ImageList:
    """The images that a table names; it need not tell which column has the labels unless ``labelled``."""
    columns = read_columns(path, encoding)
    if not columns or not next(iter(columns.values())):
        raise ValueError(f"a table of images must have a row, got {path.name} without any; give one an image")
    known = _Known(path.parent)
    file, found = _column_of_files(columns, known, path, target)
    label = _column_of_labels(columns, file, path.name, target, labelled)
    texts: Sequence[str] = columns[label] if label else [""] * len(found)
    parts = columns.get("split", columns.get("part", [""] * len(found)))
    rows: dict[str, tuple[Path, str | None, str]] = {}
    absent, twice = [], 0
    for name, place, text, part in zip(columns[file], found, texts, parts, strict=True):
        if place is None:
            absent.append(name)
            continue
        key = place.relative_to(path.parent).as_posix() if place.is_relative_to(path.parent) else str(place)
        if key in rows and rows[key][1] != (text or None):
            raise ValueError(
                f"an image must have one label, got {rows[key][1]!r} and {text!r} for {key} in {path.name}; keep one"
            )
        twice += key in rows
        rows[key] = (place, text or None, _PARTS.get(part.lower(), ""))
    if len(absent) * 2 > len(found):
        raise ValueError(_missing(absent, len(found), file, path))
    notes = [f"images are in the column {file!r}" + (f", labels in {label!r}; to choose: --target" if label else "")]
    if absent:
        notes.append(
            f"left out: {len(absent):,} rows whose image is no file that can be read, the first is {absent[0]!r}"
        )
    if twice:
        notes.append(f"left out: {twice:,} rows that name an image a second time")
    other = len(known.all - {place for place, _, _ in rows.values()}) if label and rows else 0
    if other:
        notes.append(f"left out: {other:,} images beside the table that it does not name")
    chosen = [part for _, _, part in rows.values()]
    if "train" not in chosen:
        chosen = [""] * len(chosen)
    return ImageList(
        {key: place for key, (place, _, _) in rows.items()},
        [text for _, text, _ in rows.values()],
        chosen,
        label,
        notes,
    )


class _Known:
    """The image files below a folder, found by path, by name and by name without ending."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = files_in_folder(folder).paths
        self.all = {path.resolve() for path in paths.values()}
        names, stems = (Counter(getattr(PurePosixPath(name), part) for name in paths) for part in ("name", "stem"))
        # A bare name that several files have tells nothing.
        self._by_name = {p.name: p.resolve() for p in paths.values() if names[p.name] == 1}
        self._by_stem = {p.stem: p.resolve() for p in paths.values() if stems[p.stem] == 1}

    def find(self, name: str) -> Path | None:
        if not name:
            return None
        for written in (name, name.replace("\\", "/")):
            direct = (self.folder / written).expanduser()
            if direct.is_file():
                return direct.resolve()
        bare = PurePosixPath(name.replace("\\", "/")).name
        return self._by_name.get(bare) or self._by_stem.get(bare)


def _column_of_files(
    columns: Mapping[str, Sequence[str]], known: _Known, table: Path, target: str
) -> tuple[str, list[Path | None]]:
    folded = {column.casefold().strip(): column for column in columns if column != target}
    order = [folded[one] for one in _FILES if one in folded] + [
        c for c in folded.values() if c.casefold() not in _FILES
    ]
    best = ""
    places: list[Path | None] = []
    for column in order:
        found = [known.find(text) for text in columns[column]]
        if sum(place is not None for place in found) > sum(place is not None for place in places):
            best, places = column, found
        if places and all(place is not None for place in places):
            break
    if not best:
        likely = next((column for column in order if _names_images(columns[column])), "")
        if likely:
            raise ValueError(_missing(columns[likely], len(columns[likely]), likely, table))
        first = next(iter(columns.values()))
        raise ValueError(
            f"a table of images must have a column of files that exist, got {', '.join(list(columns)[:6])} in "
            f"{table.name}, where {first[0]!r} is none in {known.folder.resolve()}; put the table into the folder of "
            "the images"
        )
    return best, places


def _names_images(texts: Sequence[str]) -> bool:
    """Whether most entries of a column end as image files do."""
    endings = image_endings()
    return sum(PurePosixPath(text.strip()).suffix.lower() in endings for text in texts) * 2 > len(texts)


def _missing(absent: Sequence[str], count: int, column: str, table: Path) -> str:
    many = f"none of {count:,}" if len(absent) == count else f"{len(absent):,} of {count:,} that do not"
    folder = table.parent.resolve()
    return (
        f"the images of a table must be files that exist, got {many} (the first is {absent[0]!r}) from the column "
        f"{column!r} of {table.name}; write paths from {folder}, or put the table into the folder of the images"
    )


def _column_of_labels(columns: Mapping[str, Sequence[str]], file: str, name: str, target: str, labelled: bool) -> str:
    if target:
        if target not in columns:
            raise ValueError(
                f"target must be a column of the table, got {target!r} for {name}; the nearest are: "
                f"{nearest(target, [one for one in columns if one != file])}"
            )
        return target
    others = [column for column in columns if column != file and column.casefold() not in ("split", "part")]
    folded = {column.casefold().strip(): column for column in others}
    named = next((folded[one] for one in _LABELS if one in folded), "")
    if named or not others:
        return named
    few = [column for column in others if len(set(columns[column])) <= max(2, len(columns[column]) // 2)]
    if len(few) != 1 and len(others) != 1:
        if not labelled:
            return ""
        raise ValueError(
            f"a table of images must have a column of labels, got {', '.join(others[:6])} in {name}; choose one with "
            f"--target, as in --target {(few or others)[0]}"
        )
    return few[0] if len(few) == 1 else others[0]


__all__ = ["ImageList", "read_image_list"]
