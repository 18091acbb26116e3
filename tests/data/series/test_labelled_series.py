from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.labelled_series import read_labelled_series


def table(count: int = 20) -> pd.DataFrame:
    values = np.arange(count * 5, dtype=float).reshape(count, 5)
    return pd.DataFrame(values, columns=[f"t{i}" for i in range(5)]).assign(label=["no", "yes"] * (count // 2))


def test_parts_hold_every_class_in_its_share_and_all_series_once():
    data = read_labelled_series(table(), validation=0.2, test=0.2)
    parts = [data.train, data.validation, data.open_test()]
    assert [np.bincount(part.targets).tolist() for part in parts] == [[6, 6], [2, 2], [2, 2]]
    firsts = np.concatenate([part.values[:, 0, 0] for part in parts])
    assert sorted(firsts.tolist()) == [5.0 * i for i in range(20)]
    assert data.labels == ("no", "yes")


def test_shorter_series_are_padded_and_gaps_are_lines(tmp_path: Path):
    path = tmp_path / "a.ts"
    path.write_text("@classLabel true a b\n@data\n1,?,3:a\n5:b\n2,2:a\n6,7:b", encoding="utf-8")
    data = read_labelled_series(path, validation=0, test=0)
    assert data.validation is None
    np.testing.assert_array_equal(data.train.lengths, [3, 1, 2, 2])
    np.testing.assert_array_equal(data.train.values[0, :, 0], [1, 2, 3])
    np.testing.assert_array_equal(data.train.values[1, :, 0], [5, 0, 0])
    assert "1 to 3 steps" in data.summary()


def test_a_test_file_is_read_only_when_it_is_opened(tmp_path: Path):
    path = tmp_path / "test.csv"
    table(4).to_csv(path, index=False)
    data = read_labelled_series(table(), test=path)
    assert "test in a file of its own" in data.summary()
    assert len(data.open_test().targets) == 4
    table(4).replace("yes", "maybe").to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"got maybe in test.csv; they are: no, yes"):
        data.open_test()


def test_numbers_as_classes_are_in_their_order():
    frame = table().assign(label=[10, 9] * 10)
    assert read_labelled_series(frame).labels == ("9", "10")


def test_series_without_a_class_are_left_out_and_told():
    frame = table()
    frame.loc[3, "label"] = None
    assert "left out: 1 series without a class" in read_labelled_series(frame).summary()


def test_messages():
    with pytest.raises(ValueError, match="two classes or more, got no in series"):
        read_labelled_series(table().assign(label="no"))
    empty = table()
    empty.loc[2, [f"t{i}" for i in range(5)]] = np.nan
    with pytest.raises(ValueError, match="got number 3 of series without any"):
        read_labelled_series(empty)
    with pytest.raises(ValueError, match="got none for maybe"):
        read_labelled_series(pd.concat([table(), table(2).assign(label=["maybe", "no"])]), validation=0.6, test=0.3)
