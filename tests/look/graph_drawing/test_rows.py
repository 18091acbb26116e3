"""Rows of a layered layout: every line goes down, every slot stands once, crossings are few, no chance in it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cutaway.look.graph_drawing.rows import Arrangement, Line, arrange

pairs = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 8)).filter(lambda pair: pair[0] < pair[1]), max_size=14)
SLOTS = [f"op:{i}" for i in range(9)]


def lines_of(drawn: list[tuple[int, int]]) -> list[Line]:
    return [Line(f"op:{a}", f"op:{b}", a, (i,)) for i, (a, b) in enumerate(drawn)]


def row_of(arranged: Arrangement) -> dict[str, int]:
    return {slot: r for r, row in enumerate(arranged.rows) for slot in row}


@given(pairs)
def test_lines_go_down_row_by_row(drawn: list[tuple[int, int]]):
    lines = lines_of(drawn)
    arranged = arrange(SLOTS, lines)
    rows = row_of(arranged)
    placed = [slot for row in arranged.rows for slot in row]
    assert len(placed) == len(set(placed))
    assert set(SLOTS) <= set(placed)
    for line, path in zip(lines, arranged.paths):
        assert (path[0], path[-1]) == (line.start, line.stop)
        assert [rows[slot] for slot in path] == list(range(rows[line.start], rows[line.stop] + 1))
        assert path[-2].startswith("label:")
        assert rows[path[-2]] % 2 == 1  # words have rows of their own


@given(pairs)
def test_the_same_every_time(drawn: list[tuple[int, int]]):
    assert arrange(SLOTS, lines_of(drawn)) == arrange(SLOTS, lines_of(drawn))


@given(pairs)
def test_as_few_rows_as_the_longest_path(drawn: list[tuple[int, int]]):
    lines = lines_of(drawn)
    longest = dict.fromkeys(SLOTS, 0)
    for slot in SLOTS:
        longest[slot] = max((longest[line.start] + 1 for line in lines if line.stop == slot), default=0)
    assert len(arrange(SLOTS, lines).rows) == 2 * max(longest.values()) + 1


def test_steps_of_a_loop_stand_beside_each_other():
    """h ← f(h, g(xₜ)): each g stands right above the f that uses it, though all could be at the top."""
    slots = ["value:0", "value:1", *(f"op:{i}" for i in range(8))]
    lines = []
    for t in range(4):  # op 2t is g, op 2t + 1 is f
        lines += [Line("value:0", f"op:{2 * t}", 0), Line(f"op:{2 * t}", f"op:{2 * t + 1}", 10 + 2 * t)]
        lines.append(Line(f"op:{2 * t - 1}" if t else "value:1", f"op:{2 * t + 1}", 9 + 2 * t if t else 1))
    rows = row_of(arrange(slots, lines))
    assert [rows[f"op:{2 * t + 1}"] - rows[f"op:{2 * t}"] for t in range(4)] == [2, 2, 2, 2]


def test_an_input_runs_between_parameters():
    lines = [Line("in:0", "op:0", 0), Line("value:1", "op:0", 1), Line("value:2", "op:0", 2)]
    assert arrange(["in:0", "value:1", "value:2", "op:0"], lines).rows[2] == ["value:1", "lane:0:2", "value:2"]


def test_sources_stand_right_above_their_first_use():
    lines = [Line("op:0", "op:1", 0), Line("op:1", "op:2", 1), Line("value:9", "op:2", 9)]
    rows = row_of(arrange(["value:9", "op:0", "op:1", "op:2"], lines))
    assert rows["value:9"] == rows["op:2"] - 2 == 2


def test_borders_are_first_and_last():
    lines = [Line("in:1", "op:0", 1), Line("op:0", "out:2", 2), Line("op:0", "op:1", 2), Line("op:1", "out:3", 3)]
    arranged = arrange(["in:1", "op:0", "op:1", "out:2", "out:3"], lines)
    assert arranged.rows[0] == ["in:1"]
    assert set(arranged.rows[-1]) == {"out:2", "out:3"}


def test_a_long_branch_beside_does_not_pull_the_rest_down():
    lines = [Line("in:9", "op:0", 9), Line("op:0", "op:1", 0), Line("op:1", "out:1", 1), Line("in:9", "op:2", 9)]
    lines += [Line(f"op:{i}", f"op:{i + 1}", i) for i in range(2, 6)]
    rows = row_of(arrange(["in:9", *(f"op:{i}" for i in range(7)), "out:1"], lines))
    assert (rows["op:0"], rows["op:1"], rows["out:1"]) == (2, 4, 12)


def test_lines_of_one_value_share_a_lane():
    slots = [f"op:{i}" for i in range(5)]
    chain = [Line(f"op:{i}", f"op:{i + 1}", i) for i in range(4)]
    skips = [Line("op:0", "op:3", 0), Line("op:0", "op:4", 0)]
    paths = arrange(slots, chain + skips).paths
    assert set(paths[4][1:-2]) < set(paths[5])


def crossings(rows: list[list[str]], paths: list[tuple[str, ...]]) -> int:
    """Counted pair by pair."""
    place = {slot: i for row in rows for i, slot in enumerate(row)}
    row = {slot: r for r, line in enumerate(rows) for slot in line}
    links = {pair for path in paths for pair in itertools.pairwise(path)}
    return sum(
        row[a] == row[c] and (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in itertools.combinations(sorted(links), 2)
    )


def test_crossed_lines_are_uncrossed():
    lines = [Line("op:0", "op:3", 0), Line("op:1", "op:2", 1)]
    arranged = arrange(["op:0", "op:1", "op:2", "op:3"], lines)
    assert crossings([["op:0", "op:1"], ["label:0", "label:1"], ["op:2", "op:3"]], arranged.paths) == 1
    assert crossings(arranged.rows, arranged.paths) == 0
