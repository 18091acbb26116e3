"""Vectors for tokens, image patches and numbers."""
