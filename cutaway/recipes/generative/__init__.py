"""Recipes that compress, denoise and make images."""
