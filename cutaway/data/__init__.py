"""What comes in: text, tables and pairs → splits → batches; tokenizers; samples that need no download.

Nothing is imported before it is used: `import cutaway.data` imports neither NumPy nor pandas nor torch.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "Batches": "batches",
    "BytePairs": "tokenizers",
    "Bytes": "tokenizers",
    "Characters": "tokenizers",
    "Column": "schema",
    "Corpus": "corpus",
    "Encoded": "encoders",
    "Fingerprint": "digest",
    "PairBatch": "tokenrows",
    "PairBatches": "tokenrows",
    "Pairs": "pairs",
    "Sample": "samples",
    "Schema": "schema",
    "ShuffledRows": "batches",
    "Splits": "splits",
    "Table": "tables",
    "TableBatches": "encoders",
    "TextSource": "files",
    "TokenPairs": "tokenrows",
    "Tokenizer": "tokenizers",
    "Tokens": "tokens",
    "Window": "batches",
    "Windows": "batches",
    "decode": "encoders",
    "encode": "encoders",
    "every_pair": "tokenrows",
    "every_window": "batches",
    "expect_same_data": "digest",
    "list_samples": "samples",
    "load_frame": "tables",
    "load_tokenizer": "tokenizers",
    "open_data": "opening",
    "read_pairs": "pairs",
    "read_table": "tables",
    "read_text": "corpus",
    "train_bpe": "tokenizers",
}
__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'cutaway.data' has no attribute {name!r}; it has: {', '.join(sorted(_NAMES))}")
    value = getattr(import_module(f"cutaway.data.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
