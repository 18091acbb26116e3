"""Attention masks: patterns that say which keys a query may see, and attention that computes visible blocks only."""
