"""Recipes that learn from data without labels, by restoring what is hidden of it, for tasks with few labels."""
