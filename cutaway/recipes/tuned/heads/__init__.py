"""Heads on a trained model: new ones, those that are kept, and how they are fitted to features that stay."""
