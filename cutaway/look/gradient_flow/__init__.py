"""Gradient flow: what is measured at each layer, what it means, and its pictures."""
