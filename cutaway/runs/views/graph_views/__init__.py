"""Views of runs on graphs: vertices, whole graphs, links."""
