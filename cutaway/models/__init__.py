"""Models are blocks wired together; they generate text, search for the most probable one, and give probabilities."""

from cutaway.models.autoencoders.autoencoder import Autoencoder, AutoencoderSpec
from cutaway.models.autoencoders.code_classifier import CodeClassifier, CodeClassifierSpec
from cutaway.models.autoencoders.vae import VAE, VAESpec, Varied
from cutaway.models.base import Model, with_head
from cutaway.models.by_spec import from_spec, spec_from_dict
from cutaway.models.cells import CellNet, CellNetSpec
from cutaway.models.convolutional.cnn import CNN, CNNSpec
from cutaway.models.diffusion.denoising_model import Denoising, Diffusion, DiffusionSpec
from cutaway.models.forecasting.deepar import DeepAR, DeepARSpec
from cutaway.models.forecasting.forecaster import Forecaster, ForecasterSpec
from cutaway.models.forecasting.series_density import SeriesDensity, SeriesDensitySpec
from cutaway.models.forecasting.series_windows import SeriesWindow
from cutaway.models.generation.beams import Found, beam_search, exact_top
from cutaway.models.generation.sampling import Sampling
from cutaway.models.generation.texts import generate_text, stream_text
from cutaway.models.generation.token_streams import generate, log_probabilities, stream
from cutaway.models.graphs.graph_encoder import GraphEncoder, GraphEncoderSpec
from cutaway.models.graphs.graph_predictor import GraphPredictor, GraphPredictorSpec
from cutaway.models.graphs.graph_rnn import GraphRNN, GraphRNNSpec
from cutaway.models.graphs.link_scorer import LinkScorer, LinkScorerSpec
from cutaway.models.graphs.vertex_classifier import VertexClassifier, VertexClassifierSpec
from cutaway.models.markov_chain import MarkovChain, MarkovSpec
from cutaway.models.pretraining.contrastive_encoder import ContrastiveEncoder, ContrastiveSpec
from cutaway.models.pretraining.masked_vit import MaskedViT, MaskedViTSpec
from cutaway.models.recurrent.carried_state import CarriedState
from cutaway.models.recurrent.language_model import RecurrentLM, RecurrentLMSpec
from cutaway.models.recurrent.translator import Seq2Seq, Seq2SeqSpec
from cutaway.models.sequences.series_classifier import SeriesClassifier, SeriesClassifierSpec
from cutaway.models.sequences.tagger import Tagger, TaggerInput, TaggerSpec
from cutaway.models.sequences.text_classifier import TextClassifier, TextClassifierSpec
from cutaway.models.siamese import Siamese, SiameseSpec
from cutaway.models.specs.architectures import (
    AttentionSpec,
    BERTSpec,
    GPTSpec,
    HeadSpec,
    MLPSpec,
    ModelSpec,
    NamedSpec,
    NormSpec,
    PositionSpec,
    ScalingSpec,
    SentenceSpec,
    T5Spec,
    TransformerSpec,
    ViTSpec,
)
from cutaway.models.tables import TableNet, TableNetSpec
from cutaway.models.transformers.bert import BERT
from cutaway.models.transformers.gpt import GPT
from cutaway.models.transformers.seq2seq import T5, EncoderDecoder, Transformer
from cutaway.models.transformers.vit import ViT
from cutaway.models.words.word_vectors import WordVectors, WordVectorsSpec

__all__ = [
    "BERT",
    "CNN",
    "GPT",
    "T5",
    "VAE",
    "AttentionSpec",
    "Autoencoder",
    "AutoencoderSpec",
    "BERTSpec",
    "CNNSpec",
    "CarriedState",
    "CellNet",
    "CellNetSpec",
    "CodeClassifier",
    "CodeClassifierSpec",
    "ContrastiveEncoder",
    "ContrastiveSpec",
    "DeepAR",
    "DeepARSpec",
    "Denoising",
    "Diffusion",
    "DiffusionSpec",
    "EncoderDecoder",
    "Forecaster",
    "ForecasterSpec",
    "Found",
    "GPTSpec",
    "GraphEncoder",
    "GraphEncoderSpec",
    "GraphPredictor",
    "GraphPredictorSpec",
    "GraphRNN",
    "GraphRNNSpec",
    "HeadSpec",
    "LinkScorer",
    "LinkScorerSpec",
    "MLPSpec",
    "MarkovChain",
    "MarkovSpec",
    "MaskedViT",
    "MaskedViTSpec",
    "Model",
    "ModelSpec",
    "NamedSpec",
    "NormSpec",
    "PositionSpec",
    "RecurrentLM",
    "RecurrentLMSpec",
    "Sampling",
    "ScalingSpec",
    "SentenceSpec",
    "Seq2Seq",
    "Seq2SeqSpec",
    "SeriesClassifier",
    "SeriesClassifierSpec",
    "SeriesDensity",
    "SeriesDensitySpec",
    "SeriesWindow",
    "Siamese",
    "SiameseSpec",
    "T5Spec",
    "TableNet",
    "TableNetSpec",
    "Tagger",
    "TaggerInput",
    "TaggerSpec",
    "TextClassifier",
    "TextClassifierSpec",
    "Transformer",
    "TransformerSpec",
    "VAESpec",
    "Varied",
    "VertexClassifier",
    "VertexClassifierSpec",
    "ViT",
    "ViTSpec",
    "WordVectors",
    "WordVectorsSpec",
    "beam_search",
    "exact_top",
    "from_spec",
    "generate",
    "generate_text",
    "log_probabilities",
    "spec_from_dict",
    "stream",
    "stream_text",
    "with_head",
]
