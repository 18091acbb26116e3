"""Tasks of tables."""
