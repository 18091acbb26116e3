"""Recipes that learn from data without labels, so that few labels are enough afterwards."""
