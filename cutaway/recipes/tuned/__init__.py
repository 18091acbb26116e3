"""Tuning: models that are trained already, made ready for a task of yours."""
