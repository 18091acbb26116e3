"""Simple methods that a forecast is compared with."""
