"""Models of graphs: classes of vertices and of whole graphs, and scores of pairs of vertices."""
