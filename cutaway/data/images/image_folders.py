r"""Labels by folder: cats/1.jpg is a cat. Folders called train, validation and test at the top are the parts.

first    of photos/cats/indoors/1.jpg the class is cats: the first folder in which the data divides
last     the class is cats/indoors: all folders from there on
"""

from collections.abc import Sequence
from typing import Literal

Level = Literal["first", "last"]
_PARTS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}


def labels_by_folder(names: Sequence[str], level: Level = "first") -> tuple[list[str | None], list[str]]:
    """The class and part of every image by its path; None for one that lies beside the folders of classes.

    >>> labels_by_folder(["data/cat/1.png", "data/dog/1.png", "data/3.png"])
    (['cat', 'dog', None], ['', '', ''])
    >>> labels_by_folder(["train/cat/1.png", "train/dog/1.png", "test/cat/2.png"])
    (['cat', 'dog', 'cat'], ['train', 'train', 'test'])
    >>> labels_by_folder(["all/latin/a/1.png", "all/latin/b/1.png", "all/greek/a/1.png"], "last")
    (['latin/a', 'latin/b', 'greek/a'], ['', '', ''])
    """
    folders = _without_shared([tuple(name.split("/")[:-1]) for name in names])
    parts = [""] * len(names)
    tops = {path[0].lower() for path in folders if path}
    if "train" in {_PARTS.get(top) for top in tops} and tops <= set(_PARTS) and all(folders):
        parts = [_PARTS[path[0].lower()] for path in folders]
        folders = [path[1:] for path in folders]
        if len(set(parts)) == 1:  # train alone: it is the whole
            parts, folders = [""] * len(names), _without_shared(folders)
    labels = [("/".join(path) if level == "last" else path[0]) if path else None for path in folders]
    return labels, parts


def _without_shared(folders: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The folders below those that all images are in."""
    while folders and all(folders) and len({path[0] for path in folders}) == 1:
        folders = [path[1:] for path in folders]
    return folders


__all__ = ["Level", "labels_by_folder"]
