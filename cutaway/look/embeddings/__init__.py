"""Embeddings as pictures: t-SNE maps, nearest neighbours, positions."""
