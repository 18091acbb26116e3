"""Real checkpoints in and out, in the Hugging Face layout."""

from cutaway.hub.pretrained import from_pretrained, save_pretrained
from cutaway.hub.tokenizers import load_tokenizer

__all__ = ["from_pretrained", "load_tokenizer", "save_pretrained"]
