"""Recipes for images."""
