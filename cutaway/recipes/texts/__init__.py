"""Recipes for texts."""
