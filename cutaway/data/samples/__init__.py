"""Data that needs no download."""
