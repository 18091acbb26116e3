"""Ten eigenpairs of the Laplacian of large graphs: seconds, memory and residuals; beside scikit-learn's embedding.

block      1,000,000 vertices, 5,000,000 edges, ten blocks: eigenvalues stand apart
geometric  1,000,000 points of the unit square, joined within a radius: eigenvalues of 1e-6, crowded
"""

import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import torch
from timing import compare, show

import cutaway as cut
from cutaway.data.graphs.spectra.eigenpairs import adjacency_matrix, eigenpairs

VERTICES, DEGREE, COUNT = 1_000_000, 10, 10


def block_graph(n: int, blocks: int = 10, inside: float = 0.9, seed: int = 0) -> cut.blocks.Graph:
    """n·5 edges, nine of ten inside a block, and a ring through all vertices that makes it connected."""
    random = np.random.default_rng(seed)
    m = n * DEGREE // 2 - n
    i = random.integers(n, size=m, dtype=np.int32)
    size = n // blocks
    near = (i // size) * size + random.integers(size, size=m, dtype=np.int32)  # vertices of a block follow each other
    j = np.where(random.random(m, dtype=np.float32) < inside, np.minimum(near, n - 1), random.integers(n, size=m))
    ring = np.arange(n)
    edges = np.concatenate([np.stack([i, j]), np.stack([ring, np.roll(ring, -1)])], 1).astype(np.int64)
    return cut.blocks.Graph(torch.from_numpy(edges), n)


def geometric_graph(n: int, seed: int = 0) -> cut.blocks.Graph:
    """Points of the unit square, joined within the radius that gives ten neighbours; the largest component."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(seed).random((n, 2))
    pairs = cKDTree(points).query_pairs(float(np.sqrt(DEGREE / (np.pi * n))), output_type="ndarray")
    graph = cut.blocks.Graph(torch.from_numpy(pairs.T.astype(np.int64)), n)
    return graph.subgraph(torch.from_numpy(np.flatnonzero(cut.data.connected_components(graph).of == 0)))


def one(kind: str, n: int) -> None:
    """One graph in a process of its own, for its memory; prints a line of JSON."""
    graph = block_graph(n) if kind == "block" else geometric_graph(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    warnings.simplefilter("ignore")
    started, worked = time.perf_counter(), time.process_time()
    found = eigenpairs(graph, COUNT)
    facts = {
        "vertices": graph.vertices,
        "edges": int(graph.edges.shape[1]),
        "seconds": time.perf_counter() - started,
        "processor": time.process_time() - worked,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "before": before,
        "method": found.method,
        "values": found.values[[1, -1]].tolist(),
        "worst": float((found.residuals[1:] / found.values[1:]).max()),
        "converged": bool(found.converged.all()),
    }
    print(json.dumps(facts))


def beside_scikit_learn(n: int = 20_000) -> None:
    """Ten eigenvectors of a geometric graph, both with multigrid; the largest difference of eigenvalues."""
    from sklearn import __version__
    from sklearn.manifold import spectral_embedding

    graph = geometric_graph(n)
    a = adjacency_matrix(graph)
    a.indices, a.indptr = a.indices.astype(np.int32), a.indptr.astype(np.int32)

    def theirs() -> object:
        return spectral_embedding(a, n_components=COUNT, eigen_solver="amg", random_state=0, drop_first=False)

    warnings.simplefilter("ignore")
    times = compare({"ours": lambda: eigenpairs(graph, COUNT), "theirs": theirs}, repeats=3)
    ratio = times["theirs"] / times["ours"]
    rows = [
        ("ours", f"{times['ours']:.2f} s"),
        (f"scikit-learn {__version__}, amg", f"{times['theirs']:.2f} s, {ratio:.1f} times ours"),
    ]
    show(f"Ten eigenvectors of a geometric graph of {graph.vertices:,} vertices", rows)


def main(n: int = VERTICES) -> None:
    rows = []
    for kind in ("block", "geometric"):
        done = subprocess.run([sys.executable, __file__, kind, str(n)], capture_output=True, text=True, check=True)
        f = json.loads(done.stdout.splitlines()[-1])
        low, high = f["values"]
        told = f"{f['seconds']:.0f} s ({f['processor']:.0f} s of processor), {f['peak']:.2f} GB, by {f['method']}; "
        told += f"λ2 = {low:.2e}, λ10 = {high:.2e}, largest residual {f['worst']:.1e} of its λ"
        rows.append((f"{kind}, {f['vertices']:,} vertices, {f['edges']:,} edges", told))
    show("Ten eigenpairs of the symmetric Laplacian", rows)
    beside_scikit_learn(max(2000, n // 50))


if __name__ == "__main__":
    one(sys.argv[1], int(sys.argv[2]))
