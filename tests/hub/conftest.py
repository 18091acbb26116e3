"""Small random checkpoints of every family, made by transformers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

BERT = dict(
    vocab_size=61,
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=23,
)
ROBERTA = BERT | dict(max_position_embeddings=25, type_vocab_size=1, pad_token_id=1)
GPT2 = dict(vocab_size=61, n_positions=23, n_embd=12, n_layer=2, n_head=3, bos_token_id=0, eos_token_id=0)
LLAMA = dict(
    vocab_size=61,
    hidden_size=24,
    intermediate_size=20,
    num_hidden_layers=2,
    num_attention_heads=6,
    num_key_value_heads=3,
    max_position_embeddings=23,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
T5 = dict(vocab_size=61, d_model=12, d_kv=5, d_ff=20, num_layers=2, num_heads=3, decoder_start_token_id=0)
VIT = dict(
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    image_size=12,
    patch_size=4,
)


def rope(**more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_theta": 500.0, **more}}


# name: class, configuration, its settings
CHECKPOINTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt2_seven": ("GPT2LMHeadModel", "GPT2Config", GPT2 | dict(vocab_size=7)),
    "gpt2_untied": ("GPT2LMHeadModel", "GPT2Config", GPT2 | dict(tie_word_embeddings=False, n_inner=17)),
    "gpt2_model": ("GPT2Model", "GPT2Config", GPT2 | dict(activation_function="relu")),
    "gpt2_classes": ("GPT2ForSequenceClassification", "GPT2Config", GPT2 | dict(num_labels=5, pad_token_id=0)),
    "gpt2_tags": ("GPT2ForTokenClassification", "GPT2Config", GPT2 | dict(num_labels=5)),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA),
    "llama_tied": ("LlamaForCausalLM", "LlamaConfig", LLAMA | dict(tie_word_embeddings=True, attention_bias=True)),
    "llama_model": ("LlamaModel", "LlamaConfig", LLAMA | dict(head_dim=10)),
    "llama_classes": ("LlamaForSequenceClassification", "LlamaConfig", LLAMA | dict(num_labels=5)),
    "llama_linear": ("LlamaForCausalLM", "LlamaConfig", LLAMA | rope(rope_type="linear", factor=2.0)),
    "llama_dynamic": (
        "LlamaForCausalLM",
        "LlamaConfig",
        LLAMA | rope(rope_type="dynamic", factor=4.0) | dict(max_position_embeddings=5),
    ),
    "llama_llama3": (
        "LlamaForCausalLM",
        "LlamaConfig",
        LLAMA
        | rope(
            rope_type="llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=16,
        ),
    ),
    "llama_yarn": (
        "LlamaForCausalLM",
        "LlamaConfig",
        LLAMA
        | rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=700)
        | dict(head_dim=16, max_position_embeddings=2800),
    ),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA | dict(tie_word_embeddings=True)),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", LLAMA | dict(head_dim=8)),
    "qwen3_tags": ("Qwen3ForTokenClassification", "Qwen3Config", LLAMA | dict(head_dim=8, num_labels=5)),
    "bert": ("BertModel", "BertConfig", BERT),
    "bert_masked": ("BertForMaskedLM", "BertConfig", BERT),
    "bert_untied": ("BertForMaskedLM", "BertConfig", BERT | dict(tie_word_embeddings=False)),
    "bert_pretraining": ("BertForPreTraining", "BertConfig", BERT | dict(hidden_act="gelu_new")),
    "bert_classes": ("BertForSequenceClassification", "BertConfig", BERT | dict(num_labels=5)),
    "bert_tags": ("BertForTokenClassification", "BertConfig", BERT | dict(num_labels=5)),
    "roberta": ("RobertaModel", "RobertaConfig", ROBERTA),
    "roberta_masked": ("RobertaForMaskedLM", "RobertaConfig", ROBERTA),
    "roberta_classes": ("RobertaForSequenceClassification", "RobertaConfig", ROBERTA | dict(num_labels=5)),
    "roberta_tags": ("RobertaForTokenClassification", "RobertaConfig", ROBERTA | dict(num_labels=5)),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5),
    "t5_gated": (
        "T5ForConditionalGeneration",
        "T5Config",
        T5 | dict(num_decoder_layers=3, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    ),
    "t5_model": ("T5Model", "T5Config", T5),
    "vit": ("ViTForImageClassification", "ViTConfig", VIT | dict(num_labels=5)),
    "vit_relu": ("ViTModel", "ViTConfig", VIT | dict(pooler_act="relu")),
    "vit_model": ("ViTModel", "ViTConfig", VIT | dict(image_size=(8, 12), num_channels=2)),
}


class Checkpoint(NamedTuple):
    """A folder, and the model of transformers that was saved into it."""

    folder: Path
    peer: Any

    def peer_as(self, dtype: torch.dtype) -> Any:
        return type(self.peer).from_pretrained(self.folder, dtype=dtype).eval()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Checkpoint]:
    """``checkpoint("gpt2")``: made when first asked for, with weights, gains and biases all random."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    made: dict[str, Checkpoint] = {}

    def make(name: str) -> Checkpoint:
        if name not in made:
            kind, config, settings = CHECKPOINTS[name]
            peer = getattr(transformers, kind)(getattr(transformers, config)(**settings)).eval()
            generator = torch.Generator().manual_seed(0)
            for parameter in peer.parameters():
                parameter.data = torch.randn(parameter.shape, generator=generator) * 0.3
            folder = tmp_path_factory.mktemp(name)
            peer.save_pretrained(folder)
            made[name] = Checkpoint(folder, peer)
        return made[name]

    return make
