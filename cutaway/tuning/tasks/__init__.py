"""Recipes of tuning, one for each task."""
