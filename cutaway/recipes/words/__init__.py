"""Recipes for words: vectors of their own, learned or imported."""
