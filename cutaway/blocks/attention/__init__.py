"""Attention: scores, weights, heads, caches, and the transformer layers made of them."""
