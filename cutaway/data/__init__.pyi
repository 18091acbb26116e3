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
from cutaway.data.files import TextSource as TextSource
from cutaway.data.fingerprints import Fingerprint as Fingerprint
from cutaway.data.fingerprints import expect_same_data as expect_same_data
from cutaway.data.graphs.components import connected_components as connected_components
from cutaway.data.graphs.graph_data import GraphData as GraphData
from cutaway.data.graphs.graph_data import as_graph as as_graph
from cutaway.data.graphs.graph_data import read_graph as read_graph
from cutaway.data.graphs.graph_libraries import to_networkx as to_networkx
from cutaway.data.graphs.graph_libraries import to_pyg as to_pyg
from cutaway.data.graphs.graph_libraries import to_scipy as to_scipy
from cutaway.data.graphs.graph_set import GraphSet as GraphSet
from cutaway.data.graphs.graph_set import read_graphs as read_graphs
from cutaway.data.graphs.similarity import similarity_graph as similarity_graph
from cutaway.data.graphs.spectra.eigenpairs import Eigenpairs as Eigenpairs
from cutaway.data.graphs.spectra.eigenpairs import eigenpairs as eigenpairs
from cutaway.data.graphs.spectra.eigenpairs import fiedler_vector as fiedler_vector
from cutaway.data.graphs.spectra.spectral_clusters import Clusters as Clusters
from cutaway.data.graphs.spectra.spectral_clusters import spectral_clusters as spectral_clusters
from cutaway.data.graphs.spectra.spectral_clusters import spectral_embedding as spectral_embedding
from cutaway.data.graphs.vertex_scores import pagerank as pagerank
from cutaway.data.graphs.vertex_scores import vertex_scores as vertex_scores
from cutaway.data.images.image_batches import ImageBatches as ImageBatches
from cutaway.data.images.image_data import ImageData as ImageData
from cutaway.data.images.image_data import read_images as read_images
from cutaway.data.labelled.labelled_texts import LabelledTexts as LabelledTexts
from cutaway.data.labelled.labelled_texts import read_labelled as read_labelled
from cutaway.data.readers import open_data as open_data
from cutaway.data.samples.embedded import Sample as Sample
from cutaway.data.samples.embedded import list_samples as list_samples
from cutaway.data.series.series_reading import read_series as read_series
from cutaway.data.series.series_table import SeriesTable as SeriesTable
from cutaway.data.splits import Splits as Splits
from cutaway.data.tables.encoding import Encoded as Encoded
from cutaway.data.tables.encoding import TableBatches as TableBatches
from cutaway.data.tables.encoding import decode as decode
from cutaway.data.tables.encoding import encode as encode
from cutaway.data.tables.reading import Table as Table
from cutaway.data.tables.reading import read_table as read_table
from cutaway.data.tables.schema import Column as Column
from cutaway.data.tables.schema import Schema as Schema
from cutaway.data.tables.table_files import load_frame as load_frame
from cutaway.data.text.corpus import Corpus as Corpus
from cutaway.data.text.corpus import read_text as read_text
from cutaway.data.text.pairs import Pairs as Pairs
from cutaway.data.text.pairs import read_pairs as read_pairs
from cutaway.data.text.tagged_sentences import read_tagged as read_tagged
from cutaway.data.text.token_files import Tokens as Tokens
from cutaway.data.text.token_rows import (
    PairBatch as PairBatch,
)
from cutaway.data.text.token_rows import (
    PairBatches as PairBatches,
)
from cutaway.data.text.token_rows import (
    TokenPairs as TokenPairs,
)
from cutaway.data.text.token_rows import (
    every_pair as every_pair,
)
from cutaway.data.text.tokenizers import (
    BytePairs as BytePairs,
)
from cutaway.data.text.tokenizers import (
    Bytes as Bytes,
)
from cutaway.data.text.tokenizers import (
    Characters as Characters,
)
from cutaway.data.text.tokenizers import (
    Tokenizer as Tokenizer,
)
from cutaway.data.text.tokenizers import (
    load_tokenizer as load_tokenizer,
)
from cutaway.data.text.tokenizers import (
    train_bpe as train_bpe,
)
from cutaway.data.text.vector_files import (
    Vectors as Vectors,
)
from cutaway.data.text.vector_files import (
    read_vectors as read_vectors,
)
from cutaway.data.text.vector_files import (
    write_vectors as write_vectors,
)
