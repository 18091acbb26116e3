"""Abilities: the verbs that a run can be asked for."""
