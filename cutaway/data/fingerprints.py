r"""Fingerprints of data: a digest of the content, with file sizes and times that save computing it again.

    digest = sha256(content)                          a file: what `sha256sum` prints
    digest = sha256(lines "sha256(content)  name")    a folder: its files in sorted order

A file with the same size and time of change as before counts as unchanged and is not read again, unless it changed
so shortly before the digest was taken that the file system's clock could miss a second change.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_CLOCK = 2_000_000_000  # nanoseconds: the coarsest clock of a file system in use (FAT) ticks every two seconds


@dataclass(frozen=True)
class Stamp:
    """A file's name in the data, its size in bytes, and when it changed (nanoseconds), all known without reading it."""

    name: str
    size: int
    modified: int


@dataclass(frozen=True)
class Fingerprint:
    """The digest of some data, the files it was taken from (none for data held in memory), and when it was taken."""

    digest: str
    size: int
    files: tuple[Stamp, ...] = ()
    taken: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Any) -> "Fingerprint":
        """The fingerprint of a JSON object; one that is damaged is a ValueError."""
        try:
            files = tuple(Stamp(stamp["name"], stamp["size"], stamp["modified"]) for stamp in value["files"])
            found = cls(value["digest"], value["size"], files, value["taken"])
            numbers = [found.size, found.taken, *(n for stamp in files for n in (stamp.size, stamp.modified))]
            sound = isinstance(found.digest, str) and all(isinstance(stamp.name, str) for stamp in files)
            if sound and all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
                return found
        except (KeyError, TypeError, IndexError):
            pass
        raise ValueError(
            f"a fingerprint of data must be as it was written, with 'digest', 'size', 'files' and 'taken', got "
            f"{str(value)[:60]!r}; take config.json from a copy"
        )

    def looks_like(self, stamps: Iterable[Stamp]) -> bool:
        """Whether files with these stamps count as the same data, without reading them."""
        stamps = tuple(stamps)
        settled = all(stamp.modified < self.taken - _CLOCK for stamp in self.files)
        return bool(stamps) and settled and stamps == self.files


def stamp(name: str, path: Path) -> Stamp:
    """The stamp of a file."""
    status = path.stat()
    return Stamp(name, status.st_size, status.st_mtime_ns)


def digest_file(path: str | os.PathLike[str]) -> str:
    """The sha256 of a file, read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint_bytes(content: bytes) -> Fingerprint:
    """The fingerprint of data held in memory."""
    return Fingerprint(hashlib.sha256(content).hexdigest(), len(content), taken=time.time_ns())


def fingerprint_files(files: Mapping[str, Path]) -> Fingerprint:
    """The fingerprint of a file, or of several by the names that they have in the data."""
    taken = time.time_ns()
    stamps = tuple(stamp(name, path) for name, path in files.items())
    digests = {name: digest_file(path) for name, path in files.items()}
    if len(digests) == 1:
        (digest,) = digests.values()
    else:
        listing = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
        digest = hashlib.sha256(listing.encode()).hexdigest()
    return Fingerprint(digest, sum(stamp.size for stamp in stamps), stamps, taken)


def refresh(known: Fingerprint | None, files: Mapping[str, Path]) -> Fingerprint:
    """The fingerprint of files: the known one if size and time say so, else taken anew."""
    if known is not None and known.looks_like(stamp(name, path) for name, path in files.items()):
        return known
    return fingerprint_files(files)


def expect_same_data(stored: Fingerprint, now: Fingerprint, name: str) -> None:
    """A run resumes on the data that it began with."""
    if now.digest != stored.digest:
        raise ValueError(
            f"a run must have the data that it began with, got {name} of {now.size:,} bytes with digest "
            f"{now.digest[:12]} where the run has {stored.size:,} bytes with digest {stored.digest[:12]}; "
            "bring back the old data or start a new run"
        )


__all__ = [
    "Fingerprint",
    "Stamp",
    "digest_file",
    "expect_same_data",
    "fingerprint_bytes",
    "fingerprint_files",
    "refresh",
    "stamp",
]
