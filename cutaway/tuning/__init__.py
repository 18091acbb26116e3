"""Tuning: a trained base, a method, and one of the tasks."""
