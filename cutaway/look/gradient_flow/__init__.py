"""Gradient flow: the measurements at each layer, a verdict on them in words, and their pictures."""
