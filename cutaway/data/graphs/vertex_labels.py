r"""The labels of vertices: classes by their numbers, or numbers to predict."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.data.checks import expect_choice
from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.data.tables.columns import plain_text
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

KINDS = ("auto", "classes", "values")
_CLASSES = 50  # different whole numbers, at most, that are taken for classes


def read_labels(
    raw: RawGraph,
    name: str,
    notes: list[str],
    kind: str = "auto",
    what: str = "vertices",
    known: Sequence[str] = (),
) -> tuple[tuple[str, ...], Tensor | None]:
    """The names of the classes (none if the labels are numbers) and the label of every vertex; None without labels.

    ``kind`` is "classes" or "values"; "auto": words are classes, and so are at most 50 different whole numbers.
    ``known`` are the names of the classes where others were read before.
    """
    expect_choice("labels", kind, KINDS)
    source = raw.label_source or raw.name
    if raw.labels is None:
        return (), None
    pd = need("pandas", "tables", "labels of vertices")
    values = pd.Series(raw.labels)
    if values.dtype.kind in "iu" and kind != "values" and set(values[values < 0]) == {-1}:
        values = values.astype(np.float64).where(values >= 0)  # how arrays of whole numbers say that there is none
    if values.dtype == object or pd.api.types.is_string_dtype(values):
        values = values.map(lambda value: value.strip() or None if isinstance(value, str) else value)
    missing = values.isna().to_numpy()
    if missing.all():
        raise ValueError(f"labels must be there for some {what}, got none in {name!r} of {source}; name another target")
    if missing.any():
        notes.append(f"{int(missing.sum()):,} of {len(values):,} {what} have no label")
    present = values[~missing]
    if not known and (kind == "values" or (kind == "auto" and _are_values(present))):
        return (), torch.from_numpy(_numbers(values, name, source).astype(np.float32))
    texts = present.map(plain_text).to_numpy(str)
    classes = list(known) or sorted(set(texts.tolist()), key=_label_order)
    unseen = sorted(set(texts.tolist()) - set(classes))
    if unseen:
        raise ValueError(
            f"labels must be those of training, {', '.join(classes[:5])}, got {unseen[0]!r} in {name!r} of {source}; "
            "mend it, or train again"
        )
    if len(classes) < 2:
        raise ValueError(
            f"labels must be of two classes or more, got {classes[0]!r} for all {len(present):,} {what} in {name!r} "
            f"of {source}; name another target"
        )
    place = {text: i for i, text in enumerate(classes)}
    targets = np.full(len(values), -1, np.int64)
    targets[~missing] = [place[text] for text in texts]
    return tuple(classes), torch.from_numpy(targets)


def _are_values(present: "pandas.Series") -> bool:
    """Whether labels that are there look like numbers to predict, not like the numbers of classes."""
    if present.dtype.kind not in "iuf":
        return False
    whole = present.dtype.kind in "iu" or bool((present % 1 == 0).all())
    return not whole or present.nunique() > _CLASSES


def _numbers(values: "pandas.Series", name: str, source: str) -> Float[np.ndarray, "n"]:
    """Labels as numbers, NaN where there is none."""
    pd = need("pandas", "tables", "labels of vertices")
    found = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    odd = np.isnan(found) & values.notna().to_numpy()
    if odd.any():
        raise ValueError(
            f"values must be numbers, got {str(values[int(np.argmax(odd))])!r} in {name!r} of {source}; name another "
            "target, or take its labels as classes"
        )
    if np.isinf(found).any():
        raise ValueError(f"labels must be finite numbers, got inf in {name!r} of {source}; mend it")
    return found


def _label_order(label: str) -> tuple[int, float, str]:
    """Numbers by their size, then words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


__all__ = ["KINDS", "read_labels"]
