"""Activation patching as a picture."""

import numpy as np
import pytest
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import patching_map
from cutaway.look.language.activation_patching import Recovery


def recovery(sites: list[str], columns: int, by: str = "position") -> Recovery:
    values = np.random.default_rng(0).normal(0, 0.3, (len(sites), columns))
    values[-1, -1] = 1.2
    texts = ([f" t{i}" for i in range(columns)], [f" t{i}" for i in range(columns - 1)] + ["\n"])
    return Recovery(values, sites, by, (3.0, -1.0), texts)


@pytest.mark.parametrize("layers", [1, 12])
def test_positions(layers: int):
    found = recovery(["blocks.0.input", *(f"blocks.{i}" for i in range(layers))], 7)
    picture = patching_map(found)
    expect_drawn(picture)
    rows = rows_of(picture)
    for row in rows:
        assert row["value"] == pytest.approx(found.recovered[row["row"], row["column"]], rel=1e-5)
    words = words_of(picture)
    assert {"embedding", "layer 0", "␣t0", "↵→␣t6", "position", "patched at", "1.20"} <= set(words)
    assert f"Most at layer {layers - 1}, position 6: 1.2." in picture.note
    assert "1: 3, as over the clean text; 0: −1, as over the corrupted one" in picture.note


def test_other_sites_and_heads():
    names = words_of(patching_map(recovery(["blocks.0.mlp", "norm"], 3)))
    assert {"blocks.0.mlp", "norm"} <= set(names)
    found = recovery([f"transformer.h.{i}.attn.c_proj.input" for i in range(3)], 4, by="head")
    picture = patching_map(found)
    assert {"layer 0", "layer 2", "head", "3"} <= set(words_of(picture))
    expect_drawn(picture)


def test_many_positions_are_an_image():
    picture = patching_map(recovery(["a", "b"], 100))
    assert "Drawn as an image" in picture.note
    expect_drawn(picture)
