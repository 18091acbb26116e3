"""What tuning changed in a model: its weights, its representations, its answers."""
