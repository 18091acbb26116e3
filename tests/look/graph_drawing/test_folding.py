"""Groups: one a call, stacks of the same ones, what stands where, what is open."""

import pytest
import torch
from look.graphed import Tower, neuron, tower
from torch import Tensor, nn

from cutaway.inside.address_globs import UnknownAddress
from cutaway.look.graph_drawing.folding import BOXES, Group, grouped, opened
from cutaway.look.graphs import graph, record


def named(groups: list[Group], path: str, stacked: bool = False) -> Group:
    (found,) = [group for group in groups if group.path == path and group.stacked == stacked]
    return found


def test_without_modules_there_is_one_group():
    (group,) = grouped(neuron())
    assert group.slots == ["value:0", "value:1", "value:2", "op:0", "op:1", "op:2", "end:5"]
    assert [(line.start, line.stop) for line in group.lines] == [
        ("value:0", "op:0"),
        ("value:1", "op:0"),
        ("op:0", "op:1"),
        ("value:2", "op:1"),
        ("op:1", "op:2"),
        ("op:2", "end:5"),
    ]


def test_every_operator_stands_in_one_group():
    g = tower()
    groups = grouped(g)
    slots = [slot for group in groups for slot in group.slots if slot.startswith("op:")]
    assert sorted(slots) == sorted(f"op:{node.index}" for node in g.nodes)
    assert [node.index for node in groups[0].nodes] == [node.index for node in g.nodes]


@pytest.mark.parametrize("depth", [2, 5])
def test_every_edge_ends_once(depth: int):
    """And on its way it crosses each border that lies between its ends once."""
    g = tower(depth)
    groups = grouped(g)
    ends = [line.edges for group in groups for line in group.lines if line.stop.startswith("op:")]
    assert sorted(e for edges in ends for e in edges) == list(range(len(g.edges)))
    for i, edge in enumerate(g.edges):
        passed = [line for group in groups for line in group.lines if i in line.edges]
        assert {line.value for line in passed} == {edge.value.index}
        assert sum(line.stop == f"op:{edge.consumer.index}" for line in passed) == 1
        assert sum(line.start.startswith(("op:", "value:")) for line in passed) == 1


def test_lines_go_on_from_border_to_border():
    groups = grouped(tower())
    for group in groups[1:]:
        around = group.parent
        assert around is not None
        slot = f"group:{group.number}"
        assert {line.value for line in around.lines if line.stop == slot} == {
            int(s[3:]) for s in group.slots if s.startswith("in:")
        }
        assert {line.value for line in around.lines if line.start == slot} == {
            int(s[4:]) for s in group.slots if s.startswith("out:")
        }


def test_the_same_blocks_are_one_stack():
    groups = grouped(tower(4))
    stack = named(groups, "blocks.0", stacked=True)
    assert [group.path for group in stack.inner] == [f"blocks.{i}" for i in range(4)]
    assert (stack.name, stack.kind) == ("blocks.0 … 3", "Block")
    assert named(groups, "blocks.2").above == [groups[0], stack, named(groups, "blocks.2")]


def test_two_blocks_are_not_stacked():
    assert not any(group.stacked for group in grouped(tower(2)))


def test_blocks_that_differ_are_not_stacked():
    model = Tower(4)
    model.blocks[2].inner.bias = None  # one operand less
    assert not any(group.stacked for group in grouped(graph(model, torch.arange(3))))


class Again(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = torch.tanh(self.cell(x))
        return x


def test_each_call_is_a_group():
    groups = grouped(graph(Again(), torch.ones(1, 2)))
    assert [(group.path, group.call) for group in groups[1:]] == [("cell", 1), ("cell", 2), ("cell", 3)]


def test_a_parameter_stands_around_all_its_uses():
    g = tower()
    groups = grouped(g)
    (shared,) = [value for value in g.values if value.name == "embed.weight"]
    own = next(value for value in g.values if value.name == "blocks.1.inner.weight")
    assert f"value:{shared.index}" in groups[0].slots  # the first and the last operator read it
    assert f"value:{own.index}" in named(groups, "blocks.1.inner").slots
    calls = grouped(graph(Again(), torch.ones(1, 2)))
    assert sum(slot.startswith("value:") for slot in calls[0].slots) == 3  # the input, and weight and bias of all calls


def test_a_recorded_piece_of_code():
    with record() as g:
        layer = nn.Linear(2, 3)
        (layer(torch.ones(1, 2)) ** 2).sum()
    groups = grouped(g)
    assert [group.kind for group in groups[1:]] == ["Linear"]
    assert sum(slot.startswith("end:") for slot in groups[0].slots) == 1


def test_levels_and_addresses():
    groups = grouped(tower(4))
    stack = named(groups, "blocks.0", stacked=True)

    def paths(**how: object) -> set[str]:
        return {groups[n].path for n in opened(groups, **how)} - {""}  # type: ignore[arg-type]

    assert paths(depth=1) == set()
    assert paths(depth=2) == {"embed", *(f"blocks.{i}" for i in range(4))}
    assert stack.number in opened(groups, depth=2)
    assert opened(groups, depth=3) == opened(groups, "**") == {group.number for group in groups}
    assert opened(groups, "blocks.2") == {0, stack.number, named(groups, "blocks.2").number}
    assert paths(open=["blocks.*.inner"]) == {f"blocks.{i}{end}" for i in range(4) for end in ("", ".inner")}


def test_small_graphs_start_open_and_large_ones_folded():
    small, large = grouped(tower(4)), grouped(tower(30))
    assert opened(small) == {group.number for group in small}
    shown = opened(large)
    boxes = [s for n in shown for s in large[n].slots if not s.startswith(("in:", "out:"))]
    assert len(boxes) <= BOXES
    assert named(large, "blocks.0", stacked=True).number not in shown


def test_messages():
    groups = grouped(tower())
    with pytest.raises(ValueError, match="depth must be at least 1, got 0; 1 shows the outermost modules folded"):
        opened(groups, depth=0)
    with pytest.raises(UnknownAddress, match=r"must name a module that ran, got 'block.0'; .* blocks.0"):
        opened(groups, "block.0")
