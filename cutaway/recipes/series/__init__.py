"""Recipes for series: forecasts, classes of whole series, odd points."""
