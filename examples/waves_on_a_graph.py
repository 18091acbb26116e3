"""Waves on a graph: the Laplacian of a ring of clubs, its eigenvectors, a noisy signal made smooth, and the clusters.

python examples/waves_on_a_graph.py [folder for the pictures]
"""

import sys
import tempfile
from pathlib import Path

import networkx
import torch

import cutaway as cut

blocks = cut.blocks


def main(folder: Path) -> None:
    graph = cut.data.as_graph(networkx.planted_partition_graph(4, 25, 0.4, 0.01, seed=1))
    adjacency = graph.adjacency(torch.float64)
    matrix = blocks.laplacian(adjacency).to_dense()
    print(f"tr L = {matrix.trace():.0f}, twice the {graph.edges.shape[1]} edges")

    spectrum = cut.data.eigenpairs(graph, graph.vertices, "plain")
    q = torch.from_numpy(spectrum.vectors)
    print("slowest waves, λ =", ", ".join(f"{value:.3f}" for value in spectrum.values[:6]))
    for k in (0, 1, 4, 99):
        print(f"  energy qᵀLq of wave {k + 1:>3}: {blocks.dirichlet_energy(q[:, k], adjacency):.3f}")

    # A signal that is 1 in the first club and 0 elsewhere, under noise; the four slowest waves keep what clubs share.
    clean = (torch.arange(100) < 25).double()
    noisy = clean + 0.5 * torch.randn(100, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gains = (torch.arange(100) < 4).double()
    smooth = blocks.spectral_filter(noisy, gains, q)
    print(
        f"squared error: noisy {(noisy - clean).square().mean():.3f}, filtered {(smooth - clean).square().mean():.3f}"
    )

    found = cut.data.spectral_clusters(graph)
    print(f"{len(found.sizes)} clusters of {found.sizes}, normalised cut {found.normalised_cut:.3f}")
    places = cut.look.force_layout(graph)
    cut.look.draw_graph(graph, noisy, layout=places, title="Noisy signal").save(folder / "noisy.png")
    cut.look.draw_graph(graph, smooth, layout=places, title="Its four slowest waves").save(folder / "smooth.png")
    cut.look.spectrum_picture(spectrum.values[:12], clusters=len(found.sizes)).save(folder / "spectrum.png")
    print(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
