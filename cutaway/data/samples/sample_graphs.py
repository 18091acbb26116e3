r"""Sample graphs: a karate club of 34 people, a generated net of papers that cite one another, trees that grew, and
pairs of communities.

Zachary 1977 watched a club that split in two; edges count what members did together (networkx has it, too).
"""

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.graph_libraries import from_networkx
from cutaway.data.graphs.raw_graph_sets import RawGraphSet
from cutaway.data.graphs.raw_graphs import RawGraph
from cutaway.data.seeded_draws import draw_integers, draw_uniform
from cutaway.extras import need

_FIELDS = ("astronomy", "biology", "chemistry", "economics", "geology", "history")
_PAPERS, _WORDS = 1200, 300
_CITED = 5  # papers that one cites, at most
_LOYAL = 0.8  # share of citations inside a field
_PAIRS, _FRIENDLY = 500, 0.7  # graphs of two communities; how often two of a community are joined
_TREES, _RULES = 450, ("chain", "hubs", "random")


def sample_graph(name: str) -> RawGraph:
    """The sample graph of that name."""
    return {"karate-club": _karate, "citations": make_citations}[name]()


def _karate() -> RawGraph:
    nx = need("networkx", "graphs", "the sample karate-club")
    raw = from_networkx(nx.karate_club_graph(), name="karate-club")
    raw.weights = None  # as the split is usually told: who met whom
    return raw


def make_citations(seed: int = 0) -> RawGraph:
    """Papers of six fields, each with words of its field and of others, that mostly cite earlier ones of their own."""
    fields = draw_integers(seed, "fields", 0, _PAPERS, len(_FIELDS))
    own = draw_uniform(seed, "likes", 0, len(_FIELDS) * _WORDS).reshape(len(_FIELDS), _WORDS) < 0.12
    chances = np.where(own[fields], 0.06, 0.018)  # a field uses the words that it likes three times as often
    words = draw_uniform(seed, "words", 0, _PAPERS * _WORDS).reshape(_PAPERS, _WORDS) < chances
    pairs = dict[tuple[int, int], None]()
    for paper in range(1, _PAPERS):
        earlier = np.flatnonzero(fields[:paper] == fields[paper])
        draws = draw_uniform(seed, "cites", paper, 1 + 2 * _CITED).tolist()
        for near, which in zip(draws[1 : 2 + int(draws[0] * _CITED)], draws[1 + _CITED :]):
            loyal = len(earlier) and near < _LOYAL
            pairs[paper, int(earlier[int(which * len(earlier))]) if loyal else int(which * paper)] = None
    edges = np.array(list(pairs), np.int64)
    return RawGraph(
        "citations",
        [f"paper {i + 1}" for i in range(_PAPERS)],
        edges,
        fingerprint_bytes(edges.tobytes() + words.tobytes() + fields.tobytes()),
        x=words.astype(np.float32),
        labels=np.array([_FIELDS[i] for i in fields], object),
        target="field",
    )


def sample_trees(name: str) -> RawGraphSet:
    """Trees that grew by one of three rules; all have one feature, 1, so that their shape alone tells which."""
    assert name == "trees", name
    graphs, labels = [], []
    for number in range(_TREES):
        rule = _RULES[number % 3]
        draws = draw_uniform(0, "trees", number, 31)
        graphs.append(_grow(rule, 10 + int(draws[0] * 21), draws[1:]))
        labels.append(rule)
    content = b"".join(graph.edges.numpy().tobytes() for graph in graphs)
    names = [f"tree {i + 1}" for i in range(_TREES)]
    target, print_of = np.array(labels, object), fingerprint_bytes(content)
    return RawGraphSet("trees", graphs, names, target, "rule", print_of, ("one",))


def _grow(rule: str, vertices: int, draws: np.ndarray) -> Graph:
    """A tree: each vertex joins an earlier one, any (random), one of the last three (chain), or by degree (hubs)."""
    ends = [0]  # every vertex as often as it has edges, and the first once more
    pairs = []
    for v in range(1, vertices):
        if rule == "hubs":
            parent = ends[int(draws[v - 1] * len(ends))]
        else:
            reach = min(v, 3) if rule == "chain" else v
            parent = v - 1 - int(draws[v - 1] * reach)
        ends += [v, parent]
        pairs.append((parent, v))
    return Graph(torch.tensor(pairs).T, vertices, x=torch.ones(vertices, 1))


def sample_communities(name: str) -> RawGraphSet:
    """Pairs of groups: inside each most are joined, between them one or two (as You et al. 2018)."""
    assert name == "communities", name
    graphs = []
    for number in range(_PAIRS):
        draws = draw_uniform(0, "pairs", number, 400)
        a, b = (6 + int(draw * 5) for draw in draws[:2])
        i, j = np.triu_indices(a + b, 1)
        inside = (i < a) == (j < a)
        joined = draws[2 : 2 + len(i)] < np.where(inside, _FRIENDLY, 0.0)
        first = 2 + len(i)
        for between in range(1 + int(draws[first] * 2)):
            u, v = draws[first + 1 + 2 * between : first + 3 + 2 * between]
            joined |= (i == int(u * a)) & (j == a + int(v * b))
        graphs.append(Graph(torch.from_numpy(np.stack([i[joined], j[joined]])), a + b))
    content = b"".join(graph.edges.numpy().tobytes() for graph in graphs)
    names = [f"pair {i + 1}" for i in range(_PAIRS)]
    return RawGraphSet("communities", graphs, names, None, "", fingerprint_bytes(content))


__all__ = ["make_citations", "sample_communities", "sample_graph", "sample_trees"]
