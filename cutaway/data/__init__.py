"""Data to train on: text, labelled texts, tables, pairs, series and images → splits → batches; tokenizers; samples.

Nothing is imported before it is used: `import cutaway.data` imports neither NumPy nor pandas nor torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Batches": "batches",
    "BytePairs": "text.tokenizers",
    "Bytes": "text.tokenizers",
    "Characters": "text.tokenizers",
    "Column": "tables.schema",
    "Corpus": "text.corpus",
    "Encoded": "tables.encoding",
    "Fingerprint": "fingerprints",
    "ImageBatches": "images.image_batches",
    "ImageData": "images.image_data",
    "LabelledTexts": "labelled.labelled_texts",
    "PairBatch": "text.token_rows",
    "PairBatches": "text.token_rows",
    "Pairs": "text.pairs",
    "Sample": "samples.embedded",
    "Schema": "tables.schema",
    "SeriesTable": "series.series_table",
    "ShuffledRows": "batches",
    "Splits": "splits",
    "Table": "tables.reading",
    "TableBatches": "tables.encoding",
    "TextSource": "files",
    "TokenPairs": "text.token_rows",
    "Tokenizer": "text.tokenizers",
    "Tokens": "text.token_files",
    "Vectors": "text.vector_files",
    "Window": "batches",
    "Windows": "batches",
    "decode": "tables.encoding",
    "encode": "tables.encoding",
    "every_pair": "text.token_rows",
    "every_window": "batches",
    "expect_same_data": "fingerprints",
    "list_samples": "samples.embedded",
    "load_frame": "tables.table_files",
    "load_tokenizer": "text.tokenizers",
    "open_data": "kinds",
    "read_images": "images.image_data",
    "read_labelled": "labelled.labelled_texts",
    "read_pairs": "text.pairs",
    "read_series": "series.series_reading",
    "read_table": "tables.reading",
    "read_tagged": "text.tagged_sentences",
    "read_text": "text.corpus",
    "read_vectors": "text.vector_files",
    "train_bpe": "text.tokenizers",
    "write_vectors": "text.vector_files",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
