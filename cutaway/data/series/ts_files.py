r"""`.ts` files, in which the archives of time series classification (UEA & UCR) keep their series.

    @problemName BasicMotions
    @classLabel true Standing Running
    @data
    0.1,0.2,0.3:1.0,1.1,1.2:Standing        one series: its channels with colons between, and its class at the end

Lines that begin with # or % are comments. A question mark stands for a missing value. Dau et al. 2019; Bagnall et al.
2018 for series of several channels.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.files import open_plain, read_pieces


class TsSeries(NamedTuple):
    """One series: (steps, channels), NaN where a value is missing; its class, if the file has classes."""

    values: Float[np.ndarray, "t c"]
    label: str | None


def read_ts(path: Path, encoding: str = "utf-8") -> list[TsSeries]:
    """All series of a .ts file, in its order."""
    found: list[TsSeries] = []
    labelled, in_data = False, False
    for number, line in _lines(path, encoding):
        if in_data:
            found.append(_parse_line(line, labelled, f"{path.name}, line {number}"))
        elif line.lower() == "@data":
            in_data = True
        else:
            name, _, rest = line.partition(" ")
            if name.lower() == "@classlabel":
                labelled = rest.strip().lower().startswith("true")
            if name.lower() == "@timestamps" and rest.strip().lower().startswith("true"):
                raise ValueError(
                    f"a .ts file must hold values without time stamps, got @timeStamps true in {path.name}; "
                    "save it as CSV with the columns series, time, value and class"
                )
    if not found:
        raise ValueError(f"a .ts file must have series after a line @data, got none in {path.name}; check the file")
    counts = {series.values.shape[1] for series in found}
    if len(counts) > 1:
        raise ValueError(
            f"all series of a file must have the same channels, got {min(counts)} and {max(counts)} of them in "
            f"{path.name}; check the colons"
        )
    return found


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Every line that says something, and its number."""
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line and not line.startswith(("#", "%")):
            yield number, line


def _parse_line(line: str, labelled: bool, place: str) -> TsSeries:
    *channels, label = line.split(":") if labelled else [*line.split(":"), ""]
    if not channels:
        raise ValueError(f"a series with a class must end with a colon and the class, got none in {place}; add it")
    try:
        rows = [
            [np.nan if field.strip() in ("?", "NaN") else float(field) for field in row.split(",")] for row in channels
        ]
    except ValueError as error:
        word = str(error).partition(": ")[2] or "none"
        raise ValueError(
            f"a series must be made of numbers with commas between, got {word} in {place}; mend it, or write ? for a "
            "missing value"
        ) from None
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(
            f"the channels of a series must be of one length, got {min(lengths)} and {max(lengths)} in {place}; "
            "fill the shorter with ?"
        )
    return TsSeries(np.array(rows, np.float32).T, label.strip() if labelled else None)


__all__ = ["TsSeries", "read_ts"]
