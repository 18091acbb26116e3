"""The logit lens as a picture: words in cells, tokens of all kinds, texts of all lengths."""

import numpy as np
import pytest
from look.languages import GPTSpec, ours, stirred
from look.rendered import expect_drawn, expect_self_contained, rows_of, words_of

import cutaway as cut
from cutaway.look import lens_map, logit_lens

NAMES = ["   ", "\n", "antidisestablishmentarianism", "<script>", "", "\x00", '"', "é", *(f"w{i}" for i in range(23))]
decode = lambda ids: NAMES[ids[0]]


@pytest.mark.parametrize("depth", [1, 12])
def test_words_in_cells(depth: int):
    lens = logit_lens(ours(depth=depth), range(8), decode=decode)
    picture = lens_map(lens)
    expect_drawn(picture)
    rows = rows_of(picture)
    assert len(rows) == (depth + 1) * 8
    for row in rows:
        i, j = row["row"], row["column"]
        assert row["value"] == pytest.approx(lens.probability[i, j, 0], rel=1e-5)
        assert row["tip4"].endswith(f"{lens.probability[i, j, 4]:.3g}")
    words = words_of(picture)
    assert {"␣␣␣", "↵", "antidise…", "<script>", "∅", "embedding", "after layer", "token read", "probability"} <= set(
        words
    )
    assert all(len(row["word"]) <= 10 for row in rows)
    assert repr(lens.words[-1][-1][0]) in picture.note
    expect_self_contained(picture.to_html(), charts=1)


@pytest.mark.parametrize("value", ["entropy", "rank", "follows"])
def test_other_values(value: str):
    lens = logit_lens(ours(), [1, 2, 3, 4])
    rows = rows_of(lens_map(lens, value))
    want = {"entropy": lens.entropy, "rank": np.log10(lens.rank), "follows": lens.follows}[value]
    for row in rows:
        expected = want[row["row"], row["column"]]
        assert (
            row["value"] is None if np.isnan(expected) else row["value"] == pytest.approx(expected, rel=1e-4, abs=1e-9)
        )
    expect_drawn(lens_map(lens, value))


def test_long_texts():
    spec = GPTSpec.llama(vocabulary=31, width=12, depth=3, heads=2, context=200)
    model = stirred(cut.models.GPT(spec))
    lens = logit_lens(model, [i % 30 for i in range(150)], decode=lambda ids: f"token {ids[0]}")
    assert "Drawn as an image" in lens_map(lens).note
    assert "choose positions=slice(0, 32)" in lens_map(lens).note
    part = lens_map(lens, positions=slice(10, 60))  # 50 positions have names, but no room for words
    assert "Under the pointer" in part.note
    assert "word" not in rows_of(part)[0]
    assert "token␣10" in words_of(part)
    assert "word" in rows_of(lens_map(lens, positions=slice(-12, None)))[0]
    expect_drawn(part)


def test_messages():
    lens = logit_lens(ours(), [1, 2, 3])
    with pytest.raises(ValueError, match="a lens shows probability, entropy, rank, follows, got 'loss'; pick one"):
        lens_map(lens, "loss")
    with pytest.raises(ValueError, match=r"positions must hold at least one of the 3, got slice\(5, None, None\)"):
        lens_map(lens, positions=slice(5, None))
    with pytest.raises(ValueError, match="the last token has none that follows, got positions with that one only"):
        lens_map(lens, "follows", positions=slice(2, 3))
