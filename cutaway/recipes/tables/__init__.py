"""Recipes for tables."""
