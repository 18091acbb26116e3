r"""New graphs as files: GraphML each in a folder with a picture beside it, one list of edges, one array, or a picture.

a folder       1.graphml, 2.graphml, … and FOLDER.png, in which they stand beside real ones
.csv           graph, source, target: a row for each edge; a vertex without edges has a row without target
.npz           all of them, as `cutaway train gin --data` and `graph-rnn` read them
.png …         the picture alone
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import write_bytes, write_text
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.graph_libraries import to_networkx
from cutaway.data.graphs.raw_graph_sets import RawGraphSet, write_graph_set
from cutaway.extras import need
from cutaway.runs.views.graph_views.drawn_graphs import beside_real_graphs

if TYPE_CHECKING:
    from cutaway.runs.run import Run

PICTURES = (".png", ".svg", ".html")
ARRAYS = (".npz", ".csv")
DEFAULT = "drawn-graphs"
WORD = "graphs"


def expect_count(count: int, kind: str) -> None:
    """Any number: a picture shows the first of them."""


def write_samples(run: "Run", graphs: list[Graph], out: Path, kind: str, label: str = "") -> list[Path]:
    """Writes the graphs in the form that the ending asks for; returns the paths."""
    if kind in PICTURES:
        beside_real_graphs(run, graphs).save(out)
    elif kind == ".npz":
        names = [str(i + 1) for i in range(len(graphs))]
        write_bytes(out, write_graph_set(RawGraphSet("drawn", graphs, names, None, "", fingerprint_bytes(b""))))
    elif kind == ".csv":
        write_text(out, "\n".join(["graph,source,target", *_edge_lines(graphs)]) + "\n")
    else:
        nx = need("networkx", "graphs", "files of graphs")
        out.mkdir(parents=True, exist_ok=True)
        wide = len(str(len(graphs)))
        paths = [out / f"{i:0{wide}}.graphml" for i in range(1, len(graphs) + 1)]
        for path, graph in zip(paths, graphs, strict=True):
            write_text(path, "\n".join(nx.generate_graphml(to_networkx(graph))))
        picture = out.with_name(f"{out.name}.png")
        beside_real_graphs(run, graphs).save(picture)
        return [*paths, picture]
    return [out]


def _edge_lines(graphs: list[Graph]) -> list[str]:
    lines = []
    for number, graph in enumerate(graphs, 1):
        joined = set(graph.edges.unique().tolist())
        lines += [f"{number},{i},{j}" for i, j in graph.edges.T.tolist()]
        lines += [f"{number},{i}," for i in range(graph.vertices) if i not in joined]
    return lines


def facts(graphs: list[Graph]) -> dict[str, Any]:
    """What is told of them beside their files."""
    return {"vertices": [graph.vertices for graph in graphs], "edges": [graph.edges.shape[1] for graph in graphs]}
