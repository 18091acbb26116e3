"""The metrics of a run show themselves, and are a plain list all the same."""

from cutaway.runs.metric_rows import MetricRows

ROWS = MetricRows(
    [
        {"step": 0, "split": "validation", "loss": 4.5},
        *({"step": i, "split": "train", "loss": 4 / i, "seconds": 0.1 * i} for i in range(1, 21)),
        {"step": 20, "split": "validation", "loss": 1.0, "accuracy": 0.75},
    ]
)


def test_a_plain_list_of_dicts():
    assert isinstance(ROWS, list)
    assert ROWS[-1]["loss"] == 1.0
    assert [row["step"] for row in ROWS if row["split"] == "validation"] == [0, 20]
    assert list(ROWS) == ROWS


def test_a_table_of_the_last_rows():
    lines = repr(ROWS).splitlines()
    assert lines[0].split() == ["step", "split", "loss", "seconds", "accuracy"]
    assert lines[-2].split() == ["20", "validation", "1", "0.75"]
    assert lines[-1] == "(10 earlier rows)"
    assert repr(MetricRows()) == "no metrics yet"


def test_a_curve_and_a_table_in_a_notebook():
    html = ROWS._repr_html_()
    assert html.startswith("<svg")
    assert "Line chart of loss by step" in html
    assert "The last 12 of 22 rows" in html
    assert "<svg" not in MetricRows([{"step": 1, "split": "train", "loss": None}])._repr_html_()
    assert MetricRows()._repr_html_() == "<p>no metrics yet</p>"


def test_as_a_data_frame():
    frame = ROWS.to_pandas()
    assert list(frame.columns) == ["step", "split", "loss", "seconds", "accuracy"]
    assert len(frame) == 22
