"""Graphs: from files and from objects of other libraries, split and batched."""
