"""Batch, layer, RMS and weight normalisation."""
