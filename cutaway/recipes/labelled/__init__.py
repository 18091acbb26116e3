"""Recipes for texts with labels."""
