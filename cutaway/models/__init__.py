"""Models: blocks wired together, and what they can do: generate, search, say how likely a text is."""

from cutaway.models.base import Model, with_head
from cutaway.models.beams import Found, beam_search, exact_top
from cutaway.models.bert import BERT
from cutaway.models.generation import generate, log_probabilities, stream
from cutaway.models.gpt import GPT
from cutaway.models.opening import from_spec, spec_from_dict
from cutaway.models.sampling import Sampling
from cutaway.models.seq2seq import T5, EncoderDecoder, Transformer
from cutaway.models.specs import (
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
    T5Spec,
    TransformerSpec,
    ViTSpec,
)
from cutaway.models.tablenet import TableNet, TableNetSpec
from cutaway.models.texts import generate_text, stream_text
from cutaway.models.vit import ViT
