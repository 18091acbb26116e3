"""Heat maps: every value in its place and colour, as cells and as images."""

import numpy as np
import pytest
import torch
from look.rendered import cells_of, expect_drawn, image_of, rows_of, words_of

from cutaway.look import heatmap
from cutaway.look.style.colours import MAGNITUDE, SIGNED, channels, table


def test_every_cell_in_its_place_and_colour():
    picture = heatmap([[0.0, 1.0, 2.0], [3.0, 4.0, 8.0]])
    cells = cells_of(picture)
    xs, ys = sorted({x for x, _ in cells}), sorted({y for _, y in cells})
    assert (len(xs), len(ys), len(cells)) == (3, 2, 6)
    colours = table(MAGNITUDE, 801)
    for j, x in enumerate(xs):
        for i, y in enumerate(ys):
            value = [[0, 1, 2], [3, 4, 8]][i][j]
            assert np.abs(np.array(cells[x, y]) - colours[100 * value].astype(int)).max() <= 1


def test_signed_values_put_zero_in_the_middle():
    cells = cells_of(heatmap([[-1.0, 0.0, 4.0]]))
    _, zero, most = (np.array(cells[x]) for x in sorted(cells))
    assert np.abs(zero - channels(SIGNED[5])).max() <= 1
    assert np.abs(most - channels(SIGNED[-1])).max() <= 1
    assert heatmap([[-1.0, 0.0, 4.0]]).spec()["encoding"]["color"]["scale"]["domain"] == [-4, 4]


def test_square_root_colours():
    cells = cells_of(heatmap([[0.0, 0.25, 1.0]], root=True))
    quarter = cells[sorted(cells)[1]]
    assert np.abs(np.array(quarter) - np.array(channels(MAGNITUDE[5]))).max() <= 1  # √¼ is half way


def test_names_axes_and_values():
    picture = heatmap([[1.0, 2.0]], ["<b>"], ["\n", "a " * 20], title="T", value="weight", axes=("input", "output"))
    expect_drawn(picture)
    assert {"<b>", "↵", "a␣a␣a␣a␣a␣a…", "input", "output", "weight"} <= set(words_of(picture))
    assert picture.alt == "Heat map of weight: 1 × 2 (input × output), from 1 to 2."


def test_every_line_is_named_up_to_the_limit():
    picture = heatmap(torch.rand(64, 64), [f"r{i}" for i in range(64)], [f"c{i}" for i in range(64)])
    assert {f"{axis}{i}" for axis in "rc" for i in range(64)} <= set(words_of(picture))


def test_names_that_are_words():
    """Blanks of tokens are marked, and long ones cut; those of words are not."""
    names = ["sepal length (cm)", "b"]
    assert "sepal␣lengt…" in str(heatmap([[1.0, 2.0], [3.0, 4.0]], names).spec())
    assert "sepal length (cm)" in str(heatmap([[1.0, 2.0], [3.0, 4.0]], names, words=True).spec())


def test_two_lines_may_have_one_name():
    assert len(cells_of(heatmap(torch.rand(3, 3), ["a", "a", "a"], ["b", "b", "b"]))) == 9


def test_what_is_no_number_is_left_blank_and_counted():
    picture = heatmap([[1.0, float("nan")], [float("inf"), 2.0]])
    assert len(cells_of(picture)) == 2
    assert picture.note == "2 of 4 values are no finite numbers and left blank."
    assert "none finite" in heatmap([[float("nan")]]).alt


@pytest.mark.parametrize("values", [torch.zeros(2, 3), torch.full((1, 1), 7.0), torch.full((2, 2), -1.0)])
def test_matrices_of_one_value(values: torch.Tensor):
    expect_drawn(heatmap(values))


def test_large_matrices_are_images():
    matrix = np.zeros((100, 80))
    matrix[50:, 40:] = 1
    picture = heatmap(matrix, title="Quarter")
    assert "Drawn as an image: more than 64 lines" in picture.note
    assert "x[:64, :64]" in picture.note
    (row,) = rows_of(picture)
    assert row["url"].startswith("data:image/png;base64,")
    image = image_of(picture.to_png(scale=1))
    low, high = channels(MAGNITUDE[0]), channels(MAGNITUDE[-1])
    counts = {colour[:3]: count for count, colour in image.getcolors(1_000_000)}
    assert counts[high] == pytest.approx(counts[low] / 3, rel=0.02)  # a quarter of the whole
    expect_drawn(picture)


def test_very_large_matrices_keep_what_is_strong():
    matrix = torch.zeros(2048, 2048)
    matrix[1000, 3] = 1.0
    picture = heatmap(matrix)
    assert "each pixel is the strongest of 4\u00a0×\u00a04 values" in picture.note
    assert len(picture.to_json()) < 50_000
    counts = {colour[:3] for _, colour in image_of(picture.to_png(scale=2)).getcolors(1_000_000)}
    assert channels(MAGNITUDE[-1]) in counts


@pytest.mark.parametrize("shape", [(1, 300), (5000, 3)])
def test_long_and_thin(shape: tuple[int, int]):
    picture = heatmap(torch.rand(shape))
    assert min(image_of(picture.to_png(scale=1)).size) >= 60
    expect_drawn(picture)


def test_messages():
    with pytest.raises(ValueError, match=r"there must be a name for every row, got 3 names for shape \(2, 2\)"):
        heatmap(torch.rand(2, 2), ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"matrix must have the axes \(rows, columns\), got shape \(2, 2, 2\)"):
        heatmap(torch.rand(2, 2, 2))
