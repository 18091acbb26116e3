"""Recipes that learn to draw new graphs."""
