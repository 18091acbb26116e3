"""Recipes for text."""
