"""Tuning a model that is there: what is frozen, what is added to it by address, and what is merged into its weights."""
