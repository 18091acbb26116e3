"""What comes in: text, tables and pairs → splits → batches; tokenizers; samples that need no download.

Nothing is imported before it is used: `import cutaway.data` imports neither NumPy nor pandas nor torch.
"""

from cutaway.lazy import lazy

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
__getattr__, __dir__ = lazy(__name__, _NAMES)
