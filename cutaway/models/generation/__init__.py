"""Generating with language models: sampling, beams, text."""
