from pathlib import Path

import numpy as np
import pytest

from cutaway.data.series.ts_files import read_ts


def write(folder: Path, *lines: str) -> Path:
    path = folder / "a.ts"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_channels_gaps_and_classes(tmp_path: Path):
    found = read_ts(write(tmp_path, "# a comment", "@classLabel true up down", "@data", "1,2,?:4,5,6:up", "7:8:down"))
    assert [series.label for series in found] == ["up", "down"]
    np.testing.assert_array_equal(found[0].values, [[1, 4], [2, 5], [np.nan, 6]])
    np.testing.assert_array_equal(found[1].values, [[7, 8]])


def test_without_classes(tmp_path: Path):
    (series,) = read_ts(write(tmp_path, "@classLabel false", "@data", "1,2:3,4"))
    assert series.label is None
    assert series.values.shape == (2, 2)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("@classLabel true a", "@data", "1,x:a"), "'x' in a.ts, line 3"),
        (("@classLabel true a", "@data", "1,2:3:a"), "got 1 and 2 in a.ts, line 3"),
        (("@classLabel true a", "@data", "1,2:a", "1:2:a"), "got 1 and 2 of them in a.ts"),
        (("@classLabel true a", "@data"), "got none in a.ts"),
        (("@timeStamps true", "@data"), "@timeStamps true in a.ts"),
        (("@classLabel true a", "@data", "a"), "got none in a.ts, line 3"),
    ],
)
def test_damaged_files(tmp_path: Path, lines: tuple[str, ...], message: str):
    with pytest.raises(ValueError, match=message):
        read_ts(write(tmp_path, *lines))
