"""The run folder: settings, metrics, weights and checkpoints on disk."""
