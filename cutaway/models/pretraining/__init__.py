"""Models that learn from inputs without labels, and hand their encoder on."""
