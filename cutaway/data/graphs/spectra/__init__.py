"""The spectrum of a graph: eigenpairs of its Laplacian, how they are found in large graphs, clusters by them."""
