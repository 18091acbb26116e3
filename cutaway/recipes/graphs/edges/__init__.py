"""Pairs of vertices and edges: what a step asks for, metrics, rules without a model."""
