"""What is written: shapes, small values, shares and totals of δ, equal to the graph's own."""

import pytest
import torch
from look.graphed import neuron, tower

from cutaway.look.graph_drawing.folding import grouped
from cutaway.look.graph_drawing.labels import Text, Words, numbers_of, slices
from cutaway.look.graphs import Graph, graph


def words_of(g: Graph, numbers: int = 6) -> Words:
    return Words(g, grouped(g), numbers)


def written(words: Words) -> dict[tuple[str, str], list[str]]:
    """What stands on each line of the outermost group."""
    lines = words.groups[0].lines
    return {(line.start, line.stop): [text.words for text in words.label([line]).texts] for line in lines}


def test_a_neuron_by_hand():
    """σ(0.5·2 − 1) = 0.5: δ is 1 at the end, 0.25 before σ, and 0.25 times the other factor at w and x."""
    assert written(words_of(neuron())) == {
        ("value:0", "op:0"): ["0.5", "δ 0.5"],
        ("value:1", "op:0"): ["2", "δ 0.125"],
        ("op:0", "op:1"): ["1", "δ 0.25"],
        ("value:2", "op:1"): ["−1", "δ 0.25"],
        ("op:1", "op:2"): ["0", "δ 0.25"],
        ("op:2", "end:5"): ["0.5", "δ 1"],
    }


def test_several_uses_show_shares_and_the_total():
    """y = x² + 3x at x = 2: the shares are 2 and 2 through the product and 3 through the other, 7 in all."""
    words = words_of(graph(lambda x: x * x + 3 * x, torch.tensor(2.0)).backward())
    assert [text.words for text in words.of("value:0").texts] == ["x", "Σδ 7"]
    shares = [words.share(line) for line in words.groups[0].lines if line.start == "value:0"]
    assert sorted(shares) == ["2", "2", "3"]


def test_large_values_stand_as_their_shape_and_length():
    g = graph(lambda x: x.tanh(), torch.full((3, 4), 0.5)).backward(delta="ones")
    texts = written(words_of(g))[("value:0", "op:0")]
    delta = g.values[0].delta
    assert delta is not None
    assert texts == ["(3, 4)", f"|δ| {float(delta.norm()):.3g}"]
    assert written(words_of(g, numbers=12))[("value:0", "op:0")][0].startswith("[[0.5, 0.5")


def test_before_backward_there_is_no_delta():
    g = graph(torch.sigmoid, torch.tensor([1.0, 2.0]))
    assert written(words_of(g))[("value:0", "op:0")] == ["[1, 2]"]


def test_several_values_are_counted():
    g = graph(lambda x: torch.cat(x.chunk(3)), torch.arange(7.0))
    words = words_of(g)
    lines = [line for line in words.groups[0].lines if line.start == "op:0"]
    shapes = [(3,), (3,), (1,)]
    assert [g.values[line.value].shape for line in lines] == shapes
    assert words.label(lines).texts == (Text("3 values"),)
    assert words.label(lines[:2]).texts == (Text("2 × (3,)"),)
    assert len(words.label(lines).hint.splitlines()) == 3


def test_folded_modules_say_what_they_hold():
    """A block of the tower: linear, tanh, add; the layer has 5 · 5 + 5 = 30 parameters."""
    words = words_of(tower(4))
    by_path = {(group.path, group.stacked): group for group in words.groups}
    texts = [text.words for text in words.folded(by_path["blocks.1", False]).texts]
    assert texts == ["blocks.1", "Block", "3 operators · 30 parameters"]
    texts = [text.words for text in words.folded(by_path["blocks.0", True]).texts]
    assert texts == ["blocks.0 … 3", "4 × Block", "12 operators · 120 parameters"]


def test_parameters_go_by_their_name_inside_their_module():
    words = words_of(tower())
    names = {words.of(s).texts[0].words for group in words.groups for s in group.slots if s.startswith("value:")}
    assert names == {"tokens", "embed.weight", "weight", "bias"}


def test_numbers_as_one_reads_them():
    assert numbers_of(torch.tensor([True, False])) == "[True, False]"
    assert numbers_of(torch.tensor(1 / 3)) == "0.333"
    assert numbers_of(torch.tensor([float("nan"), float("-inf")])) == "[not a number, −∞]"
    assert slices("(…, slice(None, None, 2), 3)") == "(…, ::2, 3)"


def test_messages():
    with pytest.raises(ValueError, match="numbers must be at least 0, got -1; 0 writes shapes alone"):
        words_of(neuron(), -1)
