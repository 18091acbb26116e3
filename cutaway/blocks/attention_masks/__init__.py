"""Attention masks: patterns that say which keys a query may see, and attention that costs no more than they show."""
