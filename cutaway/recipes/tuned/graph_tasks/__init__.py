r"""Tuning models of graphs: to classes or values of vertices, and of whole graphs."""
