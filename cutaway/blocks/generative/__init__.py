"""Generative models: random codes, noise that is added and taken away step by step, and distances of samples."""
