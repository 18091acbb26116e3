"""Small language models of several families, in float64, with weights that make every part matter."""

from typing import Any

import torch
from torch import nn

import cutaway as cut

TOKENS = [3, 14, 15, 9, 2, 6, 5]
VOCABULARY = 31
GPTSpec = cut.models.GPTSpec


def stirred(model: nn.Module) -> nn.Module:
    """The same model with every parameter moved: biases that are 0 and gains that are 1 hide mistakes."""
    torch.manual_seed(1)
    for p in model.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return model.double().eval()


def ours(design: str = "gpt2", depth: int = 3, heads: int = 2, **changes: Any) -> nn.Module:
    spec = getattr(GPTSpec, design)(vocabulary=VOCABULARY, width=12, depth=depth, heads=heads, context=13)
    return stirred(cut.models.GPT(spec.but(**changes) if changes else spec))


def theirs(family: str) -> nn.Module:
    """One of transformers' models, from a config, without a download."""
    import transformers

    sizes = dict(hidden_size=12, intermediate_size=20, num_hidden_layers=3, num_attention_heads=2)
    end = dict(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, max_position_embeddings=13)
    if family == "GPT2":
        config = transformers.GPT2Config(n_positions=13, n_embd=12, n_layer=3, n_head=2, **(end | {}))
        return stirred(transformers.GPT2LMHeadModel(config))
    if family in ("Llama", "Qwen3"):
        sizes["num_key_value_heads"] = 1
    config = getattr(transformers, f"{family}Config")(**sizes, **end)
    return stirred(getattr(transformers, f"{family}ForCausalLM")(config))


OURS = {
    "gpt2": lambda: ours("gpt2"),
    "llama": lambda: ours("llama"),
    "quick": lambda: ours("quick"),
    "parallel": lambda: ours("gpt2", order="parallel"),
    "sinusoidal": lambda: ours("gpt2", position__kind="sinusoidal"),
    "one layer": lambda: ours("gpt2", depth=1),
}
THEIRS = {family: (lambda family=family: theirs(family)) for family in ("GPT2", "Llama", "Qwen3", "GPTNeoX")}


def logits_of(model: nn.Module, tokens: list[int]) -> torch.Tensor:
    """(time, vocabulary), by the model itself."""
    with torch.no_grad():
        output = model(torch.tensor([tokens]))
    return getattr(output, "logits", output)[0]
