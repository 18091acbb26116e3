r"""Where image files are found: a folder, a zip of one, or files by name; and which files beside them are left out.

Hidden files (.DS_Store, ._photo.jpg, __MACOSX/) are left out, as are files that are no images by their ending; a file
without any ending is an image if it begins like one. The files left out are counted and told.
"""

import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cutaway.data.fingerprints import Fingerprint, fingerprint_files, refresh
from cutaway.data.images.decoding import DamagedImageError, image_endings

_LARGEST_MEMBER = 1 << 28  # bytes of a file in a zip; a larger one could be a trap
_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
_JUNK = {"thumbs.db", "desktop.ini"}  # what Windows leaves in folders of pictures


@dataclass(frozen=True)
class ImageFiles:
    """Image files by their names in the data, how to read one, and how many other files were left out, by kind."""

    name: str
    names: tuple[str, ...]
    read: Callable[[str], Path | bytes]
    fingerprint: Callable[[Fingerprint | None], Fingerprint]
    others: tuple[str, ...] = ()  # visible files that are no images
    hidden: int = 0
    empty: tuple[str, ...] = ()  # folders without an image
    closed: tuple[str, ...] = ()  # links that lead nowhere, pipes, devices, and files that may not be read
    outside: tuple[str, ...] = ()  # entries of a zip whose path leads out of it
    paths: Mapping[str, Path] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What was left out."""
        found = []
        if self.others:
            kinds = Counter(PurePosixPath(name).suffix.lower() or "without ending" for name in self.others)
            listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(4))
            found.append(f"left out: {len(self.others):,} files that are no images ({listed})")
        if self.hidden:
            found.append(f"left out: {self.hidden:,} hidden files")
        if self.closed:
            found.append(
                f"left out: {len(self.closed):,} files that cannot be read (links that lead nowhere, pipes, devices, "
                f"no permission), the first is {self.closed[0]}"
            )
        if self.outside:
            listed = f"{len(self.outside):,} files whose path leads out of the zip, the first is {self.outside[0]}"
            found.append(f"left out: {listed}")
        if self.empty:
            listed = ", ".join(self.empty[:5]) + (", …" if len(self.empty) > 5 else "")
            found.append(f"folders without images: {listed}")
        return found


def files_in_folder(path: Path) -> ImageFiles:
    """The images of a folder and of all folders in it."""
    names, others, closed, hidden, folders = {}, [], [], 0, set()
    endings = image_endings()
    seen = {os.path.realpath(path)}
    for parent, inside, files in os.walk(path, followlinks=True):
        inside[:] = sorted(
            name for name in inside if not _is_hidden(name) and _is_new(os.path.join(parent, name), seen)
        )
        here = Path(parent).relative_to(path)
        if here.parts and not inside:
            folders.add(here.as_posix())
        for name in sorted(files):
            whole = (here / name).as_posix()
            if _is_hidden(name):
                hidden += 1
            elif not _may_be_read(Path(parent) / name):
                closed.append(whole)
            elif _is_image(name, endings) or (not Path(name).suffix and _begins_like_one(Path(parent) / name)):
                names[whole] = Path(parent) / name
            else:
                others.append(whole)
    filled = {str(PurePosixPath(name).parent) for name in names}
    return ImageFiles(
        path.name or str(path),
        tuple(sorted(names)),
        lambda name: names[name],
        lambda known: refresh(known, dict(sorted(names.items()))),
        tuple(others),
        hidden,
        tuple(sorted(folder for folder in folders if folder not in filled)),
        tuple(closed),
        paths=names,
    )


def files_in_zip(path: Path) -> ImageFiles:
    """The images of a zip; they are read as they are needed, and never unpacked to disk."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        told = "it is empty" if not path.stat().st_size else f"{' '.join(str(error).split())}; was it cut off?"
        raise ValueError(f"a zip must be whole, got {path}, which is damaged ({told}); copy it again") from None
    endings = image_endings()
    entries = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    outside = sorted(name for name in entries if name.startswith("/") or ".." in name.split("/"))
    seen = {name for name in entries if not any(_is_hidden(part) for part in name.split("/"))} - set(outside)
    names = tuple(sorted(name for name in seen if _is_image(name, endings)))

    def read(name: str) -> bytes:
        if entries[name].file_size > _LARGEST_MEMBER:
            raise DamagedImageError(f"it unpacks to {entries[name].file_size:,} bytes, which could be a trap")
        try:
            return archive.read(name)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
            raise DamagedImageError(" ".join(str(error).split())) from None

    return ImageFiles(
        path.name,
        names,
        read,
        lambda known: refresh(known, {path.name: path}),
        tuple(sorted(seen - set(names))),
        len(entries) - len(seen) - len(outside),
        outside=tuple(outside),
    )


def files_by_name(paths: Iterable[str | os.PathLike[str]]) -> ImageFiles:
    """Some files, each an image whatever it is called."""
    found = {os.fspath(path): Path(path).expanduser() for path in paths}
    absent = [name for name, path in found.items() if not path.is_file()]
    if absent:
        raise ValueError(f"every image must be a file that exists, got {absent[0]}; look for a misspelling")
    name = next(iter(found.values())).name if len(found) == 1 else "files"
    return ImageFiles(name, tuple(found), lambda name: found[name], lambda known: fingerprint_files(found), paths=found)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__MACOSX")) or name.lower() in _JUNK


def _is_new(folder: str, seen: set[str]) -> bool:
    """Whether a folder was not met before: links may lead back to one that was."""
    real = os.path.realpath(folder)
    new = real not in seen
    seen.add(real)
    return new


def _may_be_read(path: Path) -> bool:
    """Whether there is a regular file that is open to us: reading a pipe or a device may never end."""
    return path.is_file() and os.access(path, os.R_OK)


def _is_image(name: str, endings: frozenset[str]) -> bool:
    return PurePosixPath(name).suffix.lower() in endings


def _begins_like_one(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8).startswith(_STARTS)
    except OSError:
        return False


def begins_like_a_zip(path: Path) -> bool:
    """Whether a file begins with an entry of a zip, be the rest of it whole or not."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


__all__ = ["ImageFiles", "begins_like_a_zip", "files_by_name", "files_in_folder", "files_in_zip"]
