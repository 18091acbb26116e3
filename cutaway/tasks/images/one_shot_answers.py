r"""Answers of a siamese network: the class of each image by the most alike example.

    folder/support/cat.jpg, dog.jpg       one example a class: its file's name is the class
    folder/support/cat/1.jpg, 2.jpg       several: the class is their folder, and their mean vector stands for it
    folder/*.jpg                          the images to name

In Python: ``run.predict({"support": …, "images": …})``, or images alone: the classes of training then name them.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.one_shot import class_vectors, vectors_of
from cutaway.tasks.images.pixels import new_images

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_SUPPORT = "support"


def answers(run: "Run", inputs: Any) -> list[dict[str, Any]]:
    """For each image its file, the most alike class and how alike, and the next one."""
    support, asked = split_inputs(inputs)
    recipe: Any = run.recipe
    asked_rows = new_images(run, asked)
    if support is None:
        data = recipe.dataset(run)
        classes: list[str] = list(data.labels)
        known, targets = data.train, data.train.targets
    else:
        known, classes, targets = examples_of(run, support)
    z = class_vectors(vectors_of(run.model, known, recipe.average), targets, len(classes))
    present = np.unique(targets)
    alike = vectors_of(run.model, asked_rows, recipe.average) @ z[torch.from_numpy(present)].T
    names = [classes[i] for i in present]
    found = []
    for name, row in zip(asked_rows.names, alike, strict=True):
        first, *rest = row.argsort(descending=True).tolist()
        line = {"image": str(name), "class": names[first], "alike": float(row[first])}
        if rest:
            line |= {"next": names[rest[0]], "next_alike": float(row[rest[0]])}
        found.append(line)
    return found


def split_inputs(inputs: Any) -> tuple[Any, Any]:
    """The examples, if there are any, and the images to name."""
    if isinstance(inputs, Mapping):
        if "images" not in inputs or set(inputs) - {"support", "images"}:
            raise ValueError(
                f"images to name come as {{'support': …, 'images': …}}, got {', '.join(map(str, inputs)) or 'nothing'};"
                " name the two parts so"
            )
        return inputs.get("support"), inputs["images"]
    if isinstance(inputs, (str, os.PathLike)) and (Path(inputs) / _SUPPORT).is_dir():
        from cutaway.data.images.image_files import files_in_folder

        files = files_in_folder(Path(inputs))
        asked = [str(files.paths[name]) for name in files.names if name.split("/")[0] != _SUPPORT]
        if not asked:
            raise ValueError(f"there must be an image to name, got none beside {_SUPPORT}/ in {inputs}; add some")
        return Path(inputs) / _SUPPORT, asked
    return None, inputs


def examples_of(run: "Run", support: Any) -> tuple[ImageRows, list[str], np.ndarray]:
    """The examples, the names of their classes, and the class of each."""
    from cutaway.data.images.image_sources import open_images

    if isinstance(support, tuple) and len(support) == 2:  # images and their labels
        rows = new_images(run, support[0])
        labels: list[str] = [str(label) for label in support[1]]
        if len(labels) != len(rows):
            raise ValueError(f"there must be a label for each example, got {len(labels)} for {len(rows)}; give as many")
    else:
        source = open_images(support)
        rows = new_images(run, replace(source, notes=()))
        by_name = dict(zip(source.names, source.labels, strict=True))
        labels = [by_name[name] or PurePosixPath(name).stem for name in rows.names]
    classes = sorted(set(labels))
    return rows, classes, np.array([classes.index(label) for label in labels], np.int64)


__all__ = ["answers", "examples_of", "split_inputs"]
