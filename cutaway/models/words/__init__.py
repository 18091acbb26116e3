"""Word vectors: the model that learns them, and the pieces of words that it knows."""
