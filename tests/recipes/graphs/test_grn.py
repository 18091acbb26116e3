"""`grn`: gated steps and states at rest learn what neighbours say."""

from pathlib import Path

import pytest
from graph_runs import train

from cutaway.recipes.graphs.grn import GRNRecipe


@pytest.mark.parametrize("design", ["gated", "fixed-point"])
def test_learns_the_clubs(design: str, tmp_path: Path):
    run = train("grn", data="karate-club", design=design, width=16, dropout=0.2, steps=60, out=tmp_path / "run")
    assert run.model.spec.layer == design
    assert run.test()["accuracy"] >= 0.8


def test_a_map_that_does_not_contract_is_refused():
    with pytest.raises(ValueError, match=r"contraction must be between 0 and 1, got 1.5"):
        GRNRecipe.make(design="fixed-point", contraction=1.5)
    with pytest.raises(ValueError, match=r"rounds must be at least 1, got 0"):
        GRNRecipe.make(rounds=0)
