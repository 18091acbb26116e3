"""Texts with labels: read, split, turned into features and batches."""
