"""Cells with words in them."""

import numpy as np
from look.rendered import rows_of, words_of

from cutaway.look import Picture
from cutaway.look.charts.grids import fits_a_grid, grid_chart
from cutaway.look.charts.heatmaps import Shades
from cutaway.look.style.colours import MAGNITUDE, contrast, table


def grid(values: np.ndarray, words: list[list[str]]) -> Picture:
    names = tuple([f"{axis}{i}" for i in range(n)] for axis, n in zip("rc", values.shape))
    chart, rows = grid_chart(values, words, (names[0], names[1]), ("row", "column"), Shades(MAGNITUDE, 0.0, 1.0), "x")
    return Picture(chart, "Grid", "A grid.", data=rows)


def test_words_are_read_on_their_ground():
    values = np.linspace(0, 1, 12).reshape(3, 4)
    rows = rows_of(grid(values, [["word"] * 4] * 3))
    colours = table(MAGNITUDE, 256)
    for row in rows:
        ground = "#{:02X}{:02X}{:02X}".format(*colours[round(255 * values[row["row"], row["column"]])])
        assert contrast("#FFFFFF" if row["dark"] else "#000000", ground) > 4.5


def test_what_is_no_number_has_no_cell():
    words = words_of(grid(np.array([[0.5, np.nan]]), [["here", "gone"]]))
    assert "here" in words
    assert "gone" not in words


def test_words_are_cut_to_the_room_there_is_or_left_out():
    long = "abcdefghijklmno"
    assert "abcdefghi…" in words_of(grid(np.zeros((1, 3)), [[long] * 3]))
    shown = [row["word"] for row in rows_of(grid(np.zeros((1, 30)), [[long] * 30]))]
    assert set(shown) == {"abc…"}
    assert "word" not in rows_of(grid(np.zeros((1, 60)), [[long] * 60]))[0]
    assert "word" in rows_of(grid(np.zeros((1, 60)), [["a"] * 60]))[0]  # short ones fit


def test_limits():
    assert fits_a_grid(np.zeros((64, 64)))
    assert not fits_a_grid(np.zeros((3, 65)))
