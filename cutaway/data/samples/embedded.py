r"""Samples that need no download: text that every Python has, the tables of scikit-learn, and pairs that are made here.

The texts are made from the documentation and the source of the Python that runs, so they differ between versions of
Python; the tables and pairs are the same everywhere.
"""

import ast
import hashlib
import os
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import write_text
from cutaway.data.cache import cached, recall_fingerprint, remember_fingerprint
from cutaway.data.files import TextSource, dead_link, similar_names
from cutaway.data.stored import find_stored
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Sample:
    """Data that needs no download: its name, kind ("text", "table", "pairs" …), size and what it is.

    ``place`` is the function that makes it, as "module:function": it is given the sample's name.
    """

    name: str
    kind: str
    size: str
    about: str
    place: str


_HERE = "cutaway.data.samples.embedded"
_TEXT, _TABLE, _PAIRS = f"{_HERE}:sample_text", f"{_HERE}:sample_table", f"{_HERE}:sample_pairs"
_SAMPLES = (
    Sample(
        "python-docs", "text", "about 1.4 MB", "Python's language reference and the docstrings of its library", _TEXT
    ),
    Sample("python-source", "text", "about 4.7 MB", "the source code of Python's library", _TEXT),
    Sample(
        "python-roles",
        "tagged text",
        "9,000 lines",
        "lines of Python's library, each word with its role: keyword, function, parameter, variable …",
        "cutaway.data.samples.python_roles:sample_roles",
    ),
    Sample("iris", "table", "150 rows, 5 columns", "species of a flower from four lengths; 3 classes", _TABLE),
    Sample("wine", "table", "178 rows, 14 columns", "grower of a wine from its chemistry; 3 classes", _TABLE),
    Sample("breast-cancer", "table", "569 rows, 31 columns", "benign or malignant, from cell measurements", _TABLE),
    Sample("diabetes", "table", "442 rows, 11 columns", "progression of the disease in a year; a number", _TABLE),
    Sample("digits", "table", "1,797 rows, 65 columns", "handwritten digits of 8×8 pixels; 10 classes", _TABLE),
    Sample(
        "python-modules",
        "labelled",
        "about 2,000 texts",
        "docstrings of Python's library, and which of 12 modules each is from",
        "cutaway.data.samples.docstrings:sample_docstrings",
    ),
    Sample(
        "dates", "pairs", "20,000 pairs", "dates as people write them, and in figures: 3 March 1987, 1987-03-03", _PAIRS
    ),
    Sample(
        "cylinder-bell-funnel",
        "labelled series",
        "930 series of 128 steps",
        "a plateau, a rise or a fall in noise; 3 classes",
        "cutaway.data.samples.cylinder_bell_funnel:sample_series",
    ),
    Sample(
        "shop-sales",
        "series",
        "24 series of 600 days",
        "daily sales of shops: counts, with promotions, holidays and a region",
        "cutaway.data.samples.generated_series:sample_forecasting",
    ),
    Sample(
        "city-power",
        "series",
        "8 series of 1,344 hours",
        "hourly power of cities, with the rhythm of days and weeks",
        "cutaway.data.samples.generated_series:sample_forecasting",
    ),
    Sample(
        "digits",
        "images",
        "1,797 images of 8×8 pixels",
        "handwritten digits, 10 classes; the same as the table",
        "cutaway.data.samples.digit_images:sample_digits",
    ),
    Sample(
        "karate-club",
        "graph",
        "34 vertices, 78 edges",
        "who met whom in a club that split in two; 2 classes",
        "cutaway.data.samples.sample_graphs:sample_graph",
    ),
    Sample(
        "citations",
        "graph",
        "1,200 vertices, about 3,500 edges",
        "papers that cite one another, their words and their field; 6 classes; generated",
        "cutaway.data.samples.sample_graphs:sample_graph",
    ),
    Sample(
        "trees",
        "graphs",
        "450 graphs of 10 to 30 vertices",
        "trees that grew by one of three rules; 3 classes; generated",
        "cutaway.data.samples.sample_graphs:sample_trees",
    ),
    Sample(
        "communities",
        "graphs",
        "500 graphs of 12 to 20 vertices",
        "two groups of friends each, and a few friendships between them; generated",
        "cutaway.data.samples.sample_graphs:sample_communities",
    ),
)
# The function of scikit-learn that has it, what its target is called here, and whether the target has names.
_TABLES = {
    "iris": ("load_iris", "species", True),
    "wine": ("load_wine", "cultivar", True),
    "breast-cancer": ("load_breast_cancer", "diagnosis", True),
    "diabetes": ("load_diabetes", "progression", False),
    "digits": ("load_digits", "digit", False),
}
_VERSION = 1  # of the way the texts are made


def list_samples() -> list[Sample]:
    """All samples, for `cutaway list data`."""
    return list(_SAMPLES)


def resolve(data: Any, kind: str) -> Any:
    """The data that a name stands for: the sample of that name, what is held in memory by it (a `Stored`), else the
    path; data that is no name is returned."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    if (held := find_stored(data)) is not None:
        return held
    name = os.fspath(data)
    called = [sample for sample in _SAMPLES if sample.name == name]  # one name may stand for data of several kinds
    sample = next((sample for sample in called if sample.kind == kind), called[0] if called else None)
    if sample is None:
        path = Path(name).expanduser()
        if not name or not path.exists():
            raise ValueError(_unknown(name, kind))
        return path
    if sample.kind != kind:
        raise ValueError(f"{kind} was asked for, got the {sample.kind} sample {name}; {_known(kind)}")
    module, function = sample.place.split(":")
    return getattr(import_module(module), function)(name)


def expect_data(data: Any) -> None:
    """A name must be that of a sample, a file or a folder, of whatever kind."""
    if isinstance(data, (str, os.PathLike)) and os.fspath(data) not in {sample.name for sample in _SAMPLES}:
        path = Path(data).expanduser()
        if not os.fspath(data) or not path.exists():
            raise ValueError(_unknown(os.fspath(data), None))


def _names(kind: str | None) -> list[str]:
    return [sample.name for sample in _SAMPLES if kind in (None, sample.kind)]


def _known(kind: str | None) -> str:
    names = _names(kind)
    which = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} sample" if kind else "a sample"
    return f"give a path, or {which}: {', '.join(names)}" if names else "give the path of a file"


def _unknown(name: str, kind: str | None) -> str:
    if not name:
        return f"data must be a file, a folder or a sample, got an empty name; {_known(kind)}"
    path = Path(name).expanduser()
    if dead := dead_link(path):
        return f"data must be a file, a folder or a sample, got {str(path)!r}, {dead}"
    # Beside the samples, what lies in the same folder: most wrong paths are a letter off.
    near = similar_names(path, _names(kind))
    advice = f"did you mean {' or '.join(near)}?" if near else _known(kind)
    return f"data must be a file, a folder or a sample, got {str(path)!r}, which is none; {advice}"


def sample_table(name: str) -> "pandas.DataFrame":
    """A sample table, its target in the last column."""
    function, target, named = _TABLES[name]
    need("pandas", "tables", f"the sample {name}")
    datasets = need("sklearn.datasets", "tables", f"the sample {name}")
    options = {"scaled": False} if name == "diabetes" else {}
    loaded = getattr(datasets, function)(as_frame=True, **options)
    frame = loaded.frame.rename(columns={"target": target})
    if named:
        frame[target] = [str(loaded.target_names[i]) for i in loaded.target]
    frame.attrs["name"] = name
    return frame


def sample_pairs(name: str) -> TextSource:
    """Sample pairs, a tab between the two of a line."""
    from cutaway.data.samples.dates import make_dates

    assert name == "dates", name
    return TextSource.from_text(make_dates(), name)


def sample_text(name: str) -> TextSource:
    """A text made of Python's library."""
    return cached_text(name, {"python-docs": _docs, "python-source": _source}[name])


def cached_text(name: str, make: Callable[[], str]) -> TextSource:
    """A sample text, made when it is first asked for and kept in the cache."""
    key = {"sample": name, "version": _VERSION, "python": sys.version, "library": str(library())}
    folder = cached(
        "samples", key, lambda part: write_text(part / "text.txt", make()), lambda found: (found / "text.txt").is_file()
    )
    path = folder / "text.txt"
    known = recall_fingerprint(path)
    source = TextSource.from_path(path, known=known)
    if source.fingerprint != known:
        remember_fingerprint(path, source.fingerprint)
    return replace(source, name=name)


def library() -> Path:
    """The folder of Python's library."""
    return Path(sysconfig.get_paths()["stdlib"])


def library_modules() -> dict[str, str]:
    """The source of each module at the top of Python's library."""
    found = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted(library().glob("*.py"))
        if not path.stem.startswith("_sysconfigdata")  # says how this Python was built, not what Python is
    }
    if not found:
        raise ValueError(
            f"the text samples need Python's library as source, got none in {library()}; use a text file of your own"
        )
    return found


def _docs() -> str:
    texts = {f"topic {name}": str(text).strip() for name, text in _topics().items()}
    texts |= {
        f"module {name}": "\n\n".join([name, "=" * len(name), *docstrings(code)])
        for name, code in library_modules().items()
    }
    # In an order that is fixed but mixed: else the parts of a contiguous split would be of different kinds.
    order = sorted(texts, key=lambda name: hashlib.sha256(name.encode()).digest())
    return "\n\n\n".join(texts[name] for name in order) + "\n"


def _topics() -> Mapping[str, str]:
    try:
        from pydoc_data.topics import topics
    except ModuleNotFoundError:  # some distributions leave it out
        return {}
    return topics


def docstrings(code: str) -> Iterator[str]:
    """Every docstring of a module's source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in the library are not our user's concern
        tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text


def _source() -> str:
    modules = library_modules()
    order = sorted(modules, key=lambda name: hashlib.sha256(name.encode()).digest())
    return "\n\n".join(modules[name] for name in order)


__all__ = [
    "Sample",
    "docstrings",
    "expect_data",
    "library",
    "list_samples",
    "resolve",
    "sample_pairs",
    "sample_table",
    "sample_text",
]
