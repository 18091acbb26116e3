"""Abilities: what can be asked of a trained run, each verb described as data; none of it imports torch."""
