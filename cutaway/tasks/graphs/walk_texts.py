r"""Random walks as text: a line a walk, the names of its vertices with spaces between them.

The walks are kept as numbers; their text, which is many times as long, is made anew whenever it is read. The task of
`node2vec` is that of word vectors on this text.
"""

import hashlib
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cutaway.data.files import TextSource
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.graphs.graph_data import GraphData, read_graph
from cutaway.data.graphs.random_walks import Steps, walk_once
from cutaway.data.words.word_streams import WordCorpus, read_words
from cutaway.overriding import override
from cutaway.tasks.words.vectors import WordsInContext
from cutaway.waiting import counted

_ROWS = 10_000  # walks whose text is made at once


class WalkTexts(WordsInContext):
    """Walks from every vertex of a graph in three parts, a line each."""

    kind: ClassVar[str] = "graphs/walk_texts"

    @cached_property
    def graph(self) -> GraphData:
        """The graph, with the names of its vertices."""
        settings = self.settings
        return read_graph(
            settings.data,
            directed=settings.directed,
            weight=settings.weight or None,
            encoding=settings.encoding,
            header=settings.header,
            repeats=settings.repeats,
        )

    def by(self, settings: Any) -> "WalkTexts":
        """The walks that other settings ask for, on the same graph, which is not read again."""
        task = WalkTexts(settings, self.run)
        task.graph, task.tests = self.graph, self.tests
        return task

    @override
    def read_parts(self) -> WordCorpus:
        s = self.settings
        text = walk_source(self.graph, s.length, s.walks, s.seed, s.back, s.away)
        return read_words(text, s.min_count, s.validation, s.test, by="spaces", lower=False, lines=True)


def walk_source(data: GraphData, length: int, turns: int, seed: int, back: float, away: float) -> TextSource:
    """The text of the walks of a graph; see random_walks.py."""
    graph = data.graph
    weights = None if graph.arc_weights is None else graph.arc_weights.double().numpy()
    steps = Steps(graph.arcs.numpy(), graph.vertices, weights)
    number = np.int32 if graph.vertices < 2**31 else np.int64
    walked = (walk_once(steps, length, turn, seed, back, away).astype(number) for turn in range(turns))
    walks = list(counted(walked, "walking from every vertex", turns))
    names = walk_words(data.names)

    def pieces() -> Iterator[str]:
        blocks = [rows[i : i + _ROWS] for rows in walks for i in range(0, len(rows), _ROWS)]
        for block in counted(blocks, "reading the walks"):
            yield "".join(" ".join([names[v] for v in row if v >= 0]) + "\n" for row in block.tolist())

    digest, size = hashlib.sha256(), 0
    for piece in pieces():
        content = piece.encode()
        digest.update(content)
        size += len(content)
    return TextSource(f"walks on {data.name}", Fingerprint(digest.hexdigest(), size, taken=time.time_ns()), pieces)


def walk_words(names: tuple[str, ...]) -> list[str]:
    """Names without spaces, which part words: an underline stands for each; two that become one are numbered.

    >>> walk_words(("paper 1", "paper_1", "b"))
    ['paper_1', 'paper_1_2', 'b']
    """
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        word = "_".join(name.split()) or "_"
        unique, n = word, numbers.get(word, 2)
        while unique in found:
            unique, n = f"{word}_{n}", n + 1
        found[unique], numbers[word] = None, n
    return list(found)


__all__ = ["walk_source", "walk_words"]
