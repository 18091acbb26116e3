"""Images shown as they are: grids of them, and images at the points of a map."""
