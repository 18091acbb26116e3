"""Graphs of vertices and edges, drawn: layouts, signals on vertices, weights on edges, spectra and eigenvectors."""
