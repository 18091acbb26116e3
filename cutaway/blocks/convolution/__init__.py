"""Convolution, and the matrix that it is."""
