"""Sample data that needs no download."""
