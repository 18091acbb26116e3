"""Augmentation: training examples changed at random in ways that should not change their targets."""
