r"""The cache of results that are slow to compute: the tokens of texts, and the digests of files.

The cache is a folder: $CUTAWAY_CACHE, else the cache folder of the system. An entry is a folder whose name is a digest
of all that its content was computed from. It is written whole or not at all, with checksums, and a damaged one is made
anew. Deleting any of it costs only time.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cutaway.atomic_files import remove_leftovers, write_json, writing_folder
from cutaway.checksums import crc32_of_json, find_damage, write_checksums
from cutaway.data.fingerprints import Fingerprint


def cache_folder() -> Path:
    """Where the cache is."""
    chosen = os.environ.get("CUTAWAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cutaway"


def cached(kind: str, key: Mapping[str, Any], build: Callable[[Path], None], sound: Callable[[Path], bool]) -> Path:
    """The folder of an entry. It is taken from the cache if ``sound`` accepts it there, and else filled by ``build``.

    Processes that build the same entry at once do not disturb each other; the first to finish stays.
    """
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    home = cache_folder() / kind
    folder = home / name
    if folder.is_dir():
        if not find_damage(folder) and sound(folder):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
    try:
        home.mkdir(parents=True, exist_ok=True)
        remove_leftovers(home)
    except OSError as error:
        raise ValueError(
            f"the cache folder must be one that can be written to, got {home} ({error.strerror}); "
            "set CUTAWAY_CACHE to another"
        ) from error
    with writing_folder(folder, existing="keep") as part:
        build(part)
        write_checksums(part)
    return folder


def _record(path: Path) -> Path:
    return cache_folder() / "digests" / (hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32] + ".json")


def recall_fingerprint(path: Path) -> Fingerprint | None:
    """The fingerprint that was last taken of a file or folder, if it is known."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        record = json.loads(_record(path).read_text(encoding="utf-8"))
        if record.pop("crc32") == crc32_of_json(record):
            return Fingerprint.from_dict(record)
    return None


def remember_fingerprint(path: Path, fingerprint: Fingerprint) -> None:
    """Stores a fingerprint in the cache; a cache that cannot be written to is no reason to fail."""
    with suppress(OSError):
        record = fingerprint.to_dict()
        write_json(_record(path), record | {"crc32": crc32_of_json(record)})


__all__ = ["cache_folder", "cached", "recall_fingerprint", "remember_fingerprint"]
