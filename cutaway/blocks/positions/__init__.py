"""Positions of tokens: learned, sinusoidal, relative, rotary."""
