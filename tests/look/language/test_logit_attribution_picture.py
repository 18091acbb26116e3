"""Who wrote the logit: bars and heads that hold the numbers."""

import pytest
from look.languages import TOKENS, ours
from look.rendered import expect_drawn, expect_self_contained, rows_of, words_of

from cutaway.look import contribution_map, logit_contributions


@pytest.mark.parametrize("depth", [1, 12])
@pytest.mark.parametrize("wrong", [None, 3])
def test_bars_and_heads(depth: int, wrong: int | None):
    found = logit_contributions(ours(depth=depth, heads=4), TOKENS, 7, wrong, decode=lambda ids: f" word{ids[0]}")
    picture = contribution_map(found)
    expect_drawn(picture)
    parts = rows_of(picture, "parts")
    assert {row["name"]: row["value"] for row in parts} == pytest.approx(found.by_part(), rel=1e-5, abs=1e-9)
    heads = rows_of(picture, "heads")
    assert len(heads) == 4 * depth
    for row in heads:
        assert row["value"] == pytest.approx(found.heads[row["row"], row["column"]], rel=1e-5, abs=1e-9)
    assert "the logit of ' word7'" in picture.note
    assert ("over ' word3'" in picture.note) == (wrong is not None)
    assert {"embedding", "mlp 0", "head", "layer", "bias", "written towards it (logits)"} <= set(words_of(picture))
    expect_self_contained(picture.to_html(), charts=1)


def test_no_bar_for_positions_that_are_not_added():
    found = logit_contributions(ours("llama"), TOKENS, 7)
    assert "positions" not in {row["name"] for row in rows_of(contribution_map(found), "parts")}
