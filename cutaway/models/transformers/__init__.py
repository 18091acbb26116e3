"""Transformers: GPT, BERT, the encoder–decoders, ViT."""
