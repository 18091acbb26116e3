"""Tasks of graphs."""
