"""Recipes of graphs: classes of vertices, classes and values of whole graphs, links, vectors of vertices."""
