r"""Labelled texts that every Python has: the docstrings of twelve modules, each with the module that it is from.

The module's own name is taken out of its texts, which would otherwise give the answer away. Texts differ between
versions of Python.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cutaway.data.files import TextSource
from cutaway.data.samples.embedded import docstrings, library

# Label → the file or folder of Python's library.
_MODULES = {
    "asyncio": "asyncio",
    "decimal": "_pydecimal.py",
    "email": "email",
    "http": "http",
    "importlib": "importlib",
    "ipaddress": "ipaddress.py",
    "logging": "logging",
    "mailbox": "mailbox.py",
    "multiprocessing": "multiprocessing",
    "turtle": "turtle.py",
    "unittest": "unittest",
    "xml": "xml",
}
_WORDS = 8  # of a text, at least: shorter ones could be from anywhere


def sample_docstrings(name: str) -> TextSource:
    """Docstrings and their modules, a tab between the two of a line."""
    assert name == "python-modules", name
    lines = ["module\ttext"]
    for label in _MODULES:
        lines += [f"{label}\t{text}" for text in dict.fromkeys(_texts(label))]
    if len(lines) < 2:
        raise ValueError(
            f"the sample {name} needs Python's library as source, got none in {library()}; use a file of your own"
        )
    return TextSource.from_text("\n".join(lines) + "\n", name)


def _texts(label: str) -> Iterator[str]:
    """The docstrings of a module, each on one line and without the module's name."""
    own = re.compile(rf"\b{label}\b\.?", re.IGNORECASE)
    for file in _files(library() / _MODULES[label]):
        for text in docstrings(file.read_text(encoding="utf-8")):
            line = " ".join(own.sub("", text).split())
            if len(line.split()) >= _WORDS:
                yield line


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        return [file for file in sorted(place.rglob("*.py")) if "test" not in file.parts]
    return [place] if place.is_file() else []


__all__ = ["sample_docstrings"]
