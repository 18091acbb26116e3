"""Attacks: small changes of an input, chosen so that a classifier gives another class, and how well it resists them."""
