"""Spectral clustering beside scikit-learn's on the same graphs: agreement with known groups, and sizes.

Cora (seven fields), Citeseer (six), the karate club (two sides), a block model of 5,000 vertices (ten blocks). Labels
are compared after the fact; no setting is chosen by them. Vertices that ours sets aside count as one more cluster.
Data: CUTAWAY_DATA, else ../shared/data.
"""

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sklearn
from graph_spectra import block_graph
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import cutaway as cut
from cutaway.data.graphs.spectra.eigenpairs import adjacency_matrix


def graphs() -> Iterator[tuple[str, cut.blocks.Graph, np.ndarray, int]]:
    """Name, graph, known groups (−1: none), how many."""
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "graphs"
    for name in ("cora", "citeseer"):
        if (folder / f"{name}.npz").is_file():
            data = cut.data.read_graph(folder / f"{name}.npz")
            assert data.targets is not None
            yield name, data.graph, data.targets.numpy(), len(data.classes)
    club = cut.data.read_graph("karate-club")
    assert club.targets is not None
    yield "karate-club", club.graph, club.targets.numpy(), 2
    yield "block model", block_graph(5000), np.arange(5000) // 500, 10


def main() -> None:
    warnings.simplefilter("ignore")
    for name, graph, known, count in graphs():
        a = adjacency_matrix(graph)
        a.indices, a.indptr = a.indices.astype(np.int32), a.indptr.astype(np.int32)
        theirs = SpectralClustering(count, affinity="precomputed", random_state=0)
        ways = {
            "ours": lambda g=graph, k=count: cut.data.spectral_clusters(g, k).of,
            "ours, never regularised": lambda g=graph, k=count: cut.data.spectral_clusters(g, k, regularise="never").of,
            f"scikit-learn {sklearn.__version__}": lambda m=a, t=theirs: t.fit_predict(m),
        }
        for way, find in ways.items():
            start = time.process_time()
            of = find()
            seconds, rows = time.process_time() - start, known >= 0
            rand = adjusted_rand_score(known[rows], of[rows])
            mutual = normalized_mutual_info_score(known[rows], of[rows])
            sizes = np.sort(np.bincount(of[of >= 0]))[::-1].tolist()
            print(
                f"graph_clusters {name}, {way}: adjusted Rand {rand:.3f}, mutual information {mutual:.3f}; "
                f"sizes {sizes}, {int((of < 0).sum())} set aside; {seconds:.1f} s of processor time",
                flush=True,
            )


if __name__ == "__main__":
    main()
