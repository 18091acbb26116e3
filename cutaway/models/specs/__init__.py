"""Specs: the design of a model as plain data."""
