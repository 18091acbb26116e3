r"""Random walks as text: a line a walk, the names of its vertices with spaces between them."""

from typing import TYPE_CHECKING

from cutaway.data.graphs.random_walks import Steps, walk

if TYPE_CHECKING:
    from cutaway.data.graphs.graph_data import GraphData


def walk_lines(data: "GraphData", length: int, turns: int, seed: int, back: float, away: float) -> str:
    """The walks of a graph; see random_walks.py."""
    graph = data.graph
    weights = None if graph.arc_weights is None else graph.arc_weights.double().numpy()
    walks = walk(Steps(graph.arcs.numpy(), graph.vertices, weights), length, turns, seed, back, away)
    names = walk_words(data.names)
    return "".join(" ".join(names[v] for v in row if v >= 0) + "\n" for row in walks.tolist())


def walk_words(names: tuple[str, ...]) -> list[str]:
    """Names without spaces, which part words: an underline stands for each; two that become one are numbered.

    >>> walk_words(("paper 1", "paper_1", "b"))
    ['paper_1', 'paper_1_2', 'b']
    """
    found: dict[str, None] = {}
    for name in names:
        word = "_".join(name.split()) or "_"
        unique, n = word, 2
        while unique in found:
            unique, n = f"{word}_{n}", n + 1
        found[unique] = None
    return list(found)


__all__ = ["walk_lines", "walk_words"]
