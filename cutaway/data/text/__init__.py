"""Text: corpora and pairs of texts, tokenizers, tokens on disk, masked tokens."""
