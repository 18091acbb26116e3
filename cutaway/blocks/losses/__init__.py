"""Losses per example, distances between distributions, penalties, and the heads of tasks with their metrics."""
