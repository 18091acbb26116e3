r"""What the system or another library refuses, as a sentence: the rule, what came, the way out.

The library's own messages say all this themselves. Those of the system (`[Errno 28] No space left on device`), of
allocators and of compiled libraries do not; here they are turned into such a sentence.
"""

import errno
import os
from collections.abc import Callable

_MEMORY = "a command must fit into memory, got too little of it; close other programs, or ask for less at a time"
_SYSTEM: dict[int, Callable[[str], str]] = {
    errno.ENOSPC: lambda file: (
        f"a disk must have room for what is written to it, got none left{_at(file)}; free some, or choose another "
        "folder (the cache: set CUTAWAY_CACHE)"
    ),
    errno.EDQUOT: lambda file: (
        f"a disk must have room for what is written to it, got a quota that is used up{_at(file)}; free some, or "
        "choose another folder (the cache: set CUTAWAY_CACHE)"
    ),
    errno.EACCES: lambda file: (
        f"files must be open to you, got permission denied{_at(file)}; change its permissions, or choose another"
    ),
    errno.EPERM: lambda file: (
        f"files must be open to you, got an operation that is not permitted{_at(file)}; choose another"
    ),
    errno.EROFS: lambda file: f"a folder to write to must not be read-only, got one that is{_at(file)}; choose another",
    errno.EISDIR: lambda file: f"a file is needed here, got a folder{_at(file)}; name a file",
    errno.ENOTDIR: lambda file: f"a folder is needed here, got a file on the way{_at(file)}; choose another path",
    errno.ENOENT: lambda file: f"a path must exist, got nothing{_at(file)}; look for a misspelling",
    errno.EEXIST: lambda file: f"a path must be free, got something there already{_at(file)}; choose another",
    errno.ENAMETOOLONG: lambda file: f"a path must be short enough for the system, got a longer one{_at(file)}; cut it",
    errno.ELOOP: lambda file: f"a path must lead somewhere, got links in a circle{_at(file)}; choose another",
    errno.EMFILE: lambda file: (
        "a command must be able to open its files, got a limit that is too low; raise it by `ulimit -n 1024`"
    ),
    errno.ENFILE: lambda file: (
        "a command must be able to open its files, got a system with too many open; close other programs"
    ),
    errno.ENOMEM: lambda file: _MEMORY,
    errno.EIO: lambda file: f"a disk must be readable, got an input/output error{_at(file)}; check the disk",
}


def _at(file: str) -> str:
    shown = file if len(file) <= 200 else f"{file[:200]}…"
    return f" at {shown}" if file else ""


def sentence(error: BaseException) -> str:
    """The sentence for an error that is not ours; empty for all others."""
    words = str(error)
    if isinstance(error, OSError) and error.errno is not None:
        return _system(error)
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return (
            f"text must be {error.encoding}, got byte 0x{byte:02x} at position {error.start}; "
            "save it in that encoding, or declare its own where there is a flag for it"
        )
    if type(error).__name__ == "PanicException" and "Too many open files" in words:
        return _SYSTEM[errno.EMFILE]("")
    if type(error).__name__ == "PanicException":  # compiled libraries in Rust: charts, tokenizers
        return f"a compiled library must run through, got a panic of it ({_short(words)}); ask for less, or free memory"
    if (isinstance(error, MemoryError) and not words) or "allocate memory" in words or "bad_alloc" in words:
        return _MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in words:
        return "a command must be able to start threads, got a limit that is too low; raise it by `ulimit -u 4096`"
    if isinstance(error, ImportError) and ("map segment" in words or "allocate" in words):
        return _MEMORY
    if isinstance(error, ImportError) and "Too many open files" in words:
        return _SYSTEM[errno.EMFILE]("")
    return ""


def _system(error: OSError) -> str:
    """A system call that failed, with the file where it names one."""
    file = " → ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes)))
    known = _SYSTEM.get(error.errno or 0)
    if known is not None:
        return known(file)
    if error.strerror is None:
        return ""
    return f"the system must do as asked, got {error.strerror.lower()!r}{_at(file)}; try again, or choose another path"


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 120 else f"{line[:120]}…"
