"""Graphs: the type, sums over neighbours, and the layers of graph networks."""
