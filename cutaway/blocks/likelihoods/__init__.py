"""Likelihoods: distributions of a number to come, by their parameters, which a network puts out."""
