"""Errors of the system and of other libraries, as a sentence: the rule, what came, the way out."""

import errno
import os

import pytest

from cutaway.commands.failures import sentence

PanicException = type("PanicException", (BaseException,), {})  # as pyo3 names it


def system(number: int, *files: str) -> OSError:
    return OSError(number, os.strerror(number), *files)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            system(errno.ENOSPC, "a/b"),
            "a disk must have room for what is written to it, got none left at a/b; free some",
        ),
        (system(errno.ENOSPC), "got none left; free some, or choose another folder (the cache: set CUTAWAY_CACHE)"),
        (system(errno.EDQUOT), "got a quota that is used up; free some"),
        (system(errno.EACCES, "a"), "files must be open to you, got permission denied at a; change its permissions"),
        (system(errno.EPERM, "a"), "got an operation that is not permitted at a; choose another"),
        (system(errno.EROFS, "a"), "a folder to write to must not be read-only, got one that is at a; choose another"),
        (system(errno.EISDIR, "a"), "a file is needed here, got a folder at a; name a file"),
        (system(errno.ENOTDIR, "a/b"), "a folder is needed here, got a file on the way at a/b; choose another path"),
        (system(errno.ENOENT, "a"), "a path must exist, got nothing at a; look for a misspelling"),
        (system(errno.EEXIST, "a"), "a path must be free, got something there already at a; choose another"),
        (system(errno.ENAMETOOLONG, "a" * 300), f"got a longer one at {'a' * 200}…; cut it"),
        (system(errno.ELOOP, "a"), "a path must lead somewhere, got links in a circle at a; choose another"),
        (system(errno.EMFILE, "a"), "got a limit that is too low; raise it by `ulimit -n 1024`"),
        (system(errno.ENFILE), "got a system with too many open; close other programs"),
        (system(errno.ENOMEM), "a command must fit into memory, got too little of it; close other programs"),
        (system(errno.EIO, "a"), "a disk must be readable, got an input/output error at a; check the disk"),
        (system(errno.ENOTSUP, "a"), "got 'operation not supported' at a; try again, or choose another path"),
        (
            UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "invalid"),
            "text must be utf-8, got byte 0xff at position 1; save it",
        ),
        (MemoryError(), "a command must fit into memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), "fit into memory"),
        (RuntimeError("std::bad_alloc"), "fit into memory"),
        (RuntimeError("can't start new thread"), "got a limit that is too low; raise it by `ulimit -u 4096`"),
        (ImportError("libtorch.so: failed to map segment from shared object"), "fit into memory"),
        (ImportError("libtorch.so: Too many open files"), "raise it by `ulimit -n 1024`"),
        (PanicException("called unwrap() on an Err value"), "got a panic of it (called unwrap() on an Err value); ask"),
        (PanicException("Too many open files"), "raise it by `ulimit -n 1024`"),
    ],
    ids=repr,
)
def test_others_errors_are_told(error: BaseException, told: str):
    assert told in sentence(error)
    assert "\n" not in sentence(error)


@pytest.mark.parametrize(
    "error",
    [ValueError("steps must be above 0"), OSError("ours"), KeyError("x"), MemoryError("lower batch=16")],
    ids=repr,
)
def test_our_own_messages_are_left_alone(error: BaseException):
    assert sentence(error) == ""
