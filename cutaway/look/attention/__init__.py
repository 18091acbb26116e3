"""Attention weights as pictures: maps, what heads do, rollout."""
