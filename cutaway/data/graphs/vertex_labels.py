r"""The labels of vertices: classes by their numbers, or numbers to predict."""

import numpy as np
import torch
from torch import Tensor

from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.data.tables.columns import plain_text
from cutaway.extras import need

_CLASSES = 50  # different whole numbers, at most, that are taken for classes


def read_labels(raw: RawGraph, name: str, notes: list[str]) -> tuple[tuple[str, ...], Tensor | None]:
    """The names of the classes (none if the labels are numbers) and the label of every vertex; None without labels."""
    if raw.labels is None:
        return (), None
    pd = need("pandas", "tables", "labels of vertices")
    values = pd.Series(raw.labels)
    if values.dtype.kind in "iu" and (values < 0).any():  # how arrays of whole numbers say that there is none
        values = values.astype(np.float64).where(values >= 0)
    if values.dtype == object or pd.api.types.is_string_dtype(values):
        values = values.map(lambda value: value.strip() or None if isinstance(value, str) else value)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(
            f"labels must be there for some vertices, got none in {name!r} of {raw.name}; name another target"
        )
    if missing.any():
        notes.append(f"{int(missing.sum()):,} of {len(values):,} vertices have no label")
    present = values[~missing]
    if values.dtype.kind == "f":
        whole = bool((present % 1 == 0).all())
        if not whole or present.nunique() > _CLASSES:
            if not np.isfinite(present.to_numpy()).all():
                raise ValueError(f"labels must be finite numbers, got inf in {name!r} of {raw.name}; mend it")
            return (), torch.from_numpy(values.to_numpy(np.float32))
    elif values.dtype.kind in "iu" and present.nunique() > _CLASSES:
        return (), torch.from_numpy(values.to_numpy(np.float32))
    texts = present.map(plain_text).to_numpy(str)
    classes = sorted(set(texts.tolist()), key=_label_order)
    if len(classes) < 2:
        raise ValueError(
            f"labels must be of two classes or more, got {classes[0]!r} for all {len(present):,} vertices in {name!r} "
            f"of {raw.name}; name another target"
        )
    place = {text: i for i, text in enumerate(classes)}
    targets = np.full(len(values), -1, np.int64)
    targets[~missing] = [place[text] for text in texts]
    return tuple(classes), torch.from_numpy(targets)


def _label_order(label: str) -> tuple[int, float, str]:
    """Numbers by their size, then words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


__all__ = ["read_labels"]
