"""Learners that start from a base, one for each task."""
