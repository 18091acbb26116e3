"""Tasks of series."""
