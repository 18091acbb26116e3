"""Real checkpoints and adapters in and out, in the layouts of Hugging Face and peft."""

from cutaway.hub.adapters import load_adapter, save_adapter
from cutaway.hub.pretrained import from_pretrained, save_pretrained
from cutaway.hub.tokenizers import load_tokenizer

__all__ = ["from_pretrained", "load_adapter", "load_tokenizer", "save_adapter", "save_pretrained"]
