"""Models made of convolutions."""
