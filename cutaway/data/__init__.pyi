from cutaway.data.batches import (
    Batches as Batches,
)
from cutaway.data.batches import (
    ShuffledRows as ShuffledRows,
)
from cutaway.data.batches import (
    Window as Window,
)
from cutaway.data.batches import (
    Windows as Windows,
)
from cutaway.data.batches import (
    every_window as every_window,
)
from cutaway.data.corpus import Corpus as Corpus
from cutaway.data.corpus import read_text as read_text
from cutaway.data.digest import Fingerprint as Fingerprint
from cutaway.data.digest import expect_same_data as expect_same_data
from cutaway.data.encoders import Encoded as Encoded
from cutaway.data.encoders import TableBatches as TableBatches
from cutaway.data.encoders import decode as decode
from cutaway.data.encoders import encode as encode
from cutaway.data.files import TextSource as TextSource
from cutaway.data.opening import open_data as open_data
from cutaway.data.pairs import Pairs as Pairs
from cutaway.data.pairs import read_pairs as read_pairs
from cutaway.data.samples import Sample as Sample
from cutaway.data.samples import list_samples as list_samples
from cutaway.data.schema import Column as Column
from cutaway.data.schema import Schema as Schema
from cutaway.data.splits import Splits as Splits
from cutaway.data.tables import Table as Table
from cutaway.data.tables import load_frame as load_frame
from cutaway.data.tables import read_table as read_table
from cutaway.data.tokenizers import (
    BytePairs as BytePairs,
)
from cutaway.data.tokenizers import (
    Bytes as Bytes,
)
from cutaway.data.tokenizers import (
    Characters as Characters,
)
from cutaway.data.tokenizers import (
    Tokenizer as Tokenizer,
)
from cutaway.data.tokenizers import (
    load_tokenizer as load_tokenizer,
)
from cutaway.data.tokenizers import (
    train_bpe as train_bpe,
)
from cutaway.data.tokenrows import (
    PairBatch as PairBatch,
)
from cutaway.data.tokenrows import (
    PairBatches as PairBatches,
)
from cutaway.data.tokenrows import (
    TokenPairs as TokenPairs,
)
from cutaway.data.tokenrows import (
    every_pair as every_pair,
)
from cutaway.data.tokens import Tokens as Tokens
