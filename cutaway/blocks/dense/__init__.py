"""Dense layers, their activations, and single neurons."""
