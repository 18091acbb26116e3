"""Every family: the same logits and hidden states as transformers, and back into it."""

import json
from typing import Any

import pytest
import torch
from torch import Tensor

import cutaway as cut
from cutaway.hub import from_pretrained, save_pretrained

NAMES = [
    "gpt2",
    "gpt2_untied",
    "gpt2_model",
    "gpt2_classes",
    "gpt2_tags",
    "llama",
    "llama_tied",
    "llama_model",
    "llama_classes",
    "llama_linear",
    "llama_dynamic",
    "llama_llama3",
    "llama_yarn",
    "qwen2",
    "qwen3",
    "qwen3_tags",
    "bert",
    "bert_masked",
    "bert_untied",
    "bert_pretraining",
    "bert_classes",
    "bert_tags",
    "roberta",
    "roberta_masked",
    "roberta_classes",
    "roberta_tags",
    "t5",
    "t5_gated",
    "t5_model",
    "vit",
    "vit_relu",
    "vit_model",
]


def inputs(name: str, dtype: torch.dtype) -> tuple[dict[str, Any], tuple[Any, ...], dict[str, Any], Tensor]:
    """What transformers is called with, what we are called with, and which positions are real."""
    generator = torch.Generator().manual_seed(1)
    draw = lambda n: torch.randint(3, 61, (2, n), generator=generator)
    if name.startswith("vit"):
        shape = (2, 2, 8, 12) if name == "vit_model" else (2, 3, 12, 12)
        images = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        return {"pixel_values": images}, (images,), {}, torch.ones(2, dtype=torch.bool)
    tokens = draw(11)
    mask = torch.ones(2, 11, dtype=torch.bool)
    mask[1, 8:] = False
    tokens[1, 8:] = 1 if name.startswith("roberta") else 0  # what transformers takes for padding
    theirs = {"input_ids": tokens, "attention_mask": mask.long()}
    if name.startswith("t5"):
        answer = draw(5)
        real = torch.ones_like(answer, dtype=torch.bool)
        return theirs | {"decoder_input_ids": answer}, (tokens, answer), {"mask": mask}, real
    if name.startswith("bert"):
        segments = torch.tensor([[0] * 4 + [1] * 7] * 2)
        return theirs | {"token_type_ids": segments}, (tokens, segments), {"mask": mask}, mask
    return theirs, (tokens,), {"mask": mask}, mask


def tolerance(name: str, dtype: torch.dtype) -> float:
    """Of Llama, Qwen and T5 the reference casts to float32 inside its norms and rotary tables; our equations do not."""
    if dtype == torch.float32:
        return 1e-5
    return 1e-6 if name.startswith(("llama", "qwen", "t5")) else 1e-10


def compare(ours: Tensor, theirs: Tensor, real: Tensor, limit: float) -> None:
    if theirs.shape[: real.ndim] == real.shape:
        ours, theirs = ours[real], theirs[real]
    assert ours.dtype == theirs.dtype
    assert theirs.abs().max() > 0.05, "nothing to compare"
    torch.testing.assert_close(ours, theirs, rtol=0, atol=limit)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_same_outputs_and_hidden_states_as_transformers(name: str, dtype: torch.dtype, checkpoint):
    made = checkpoint(name)
    ours, theirs = from_pretrained(made.folder, dtype=dtype), made.peer_as(dtype)
    named, given, also, real = inputs(name, dtype)
    limit = tolerance(name, dtype)
    with torch.no_grad():
        # blocks.*, or of an encoder–decoder encoder.* and decoder.*: all that comes out of a layer
        with cut.trace(ours, "**.before", "**.after") as seen:
            out = ours(*given, **also)
        other = theirs(**named, output_hidden_states=True)
    for key in ("logits", "prediction_logits", "last_hidden_state"):
        if key in other:
            compare(out, other[key], real, limit)
            break
    if name.startswith("t5"):
        mask = also["mask"]
        compare_layers(seen, "encoder", other.encoder_hidden_states, mask, limit)
        compare_layers(seen, "decoder", other.decoder_hidden_states, real, limit)
    else:
        compare_layers(seen, "blocks", other.hidden_states, real, limit)


def compare_layers(seen: Any, side: str, theirs: tuple[Tensor, ...], real: Tensor, limit: float) -> None:
    """What enters the first layer, and what leaves each but the last, whose output transformers shows after a norm."""
    depth = len(theirs) - 1
    ours = [seen[f"{side}.0.before"], *(seen[f"{side}.{i}.after"] for i in range(depth - 1))]
    assert len(ours) >= 2
    for x, y in zip(ours, theirs):
        compare(x, y, real, limit)


# Tensors that we have no use for: a second head, and a bias that transformers does not use either.
LOST = {
    "bert_pretraining": {"cls.seq_relationship.weight", "cls.seq_relationship.bias"},
    "bert_untied": {"cls.predictions.bias"},
}


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_into_transformers(name: str, checkpoint, tmp_path):
    made = checkpoint(name)
    ours = from_pretrained(made.folder)
    assert save_pretrained(ours, tmp_path / "back") == tmp_path / "back"
    back, loaded = type(made.peer).from_pretrained(tmp_path / "back", output_loading_info=True)
    lost = LOST.get(name, set())
    assert set(loaded["missing_keys"]) <= lost
    assert not loaded["unexpected_keys"] or name == "bert_pretraining"  # its pooler belongs to that head
    for key, tensor in made.peer.state_dict().items():
        if key not in lost:
            assert torch.equal(tensor, back.state_dict()[key]), key
    named, _, _, _ = inputs(name, torch.float32)
    with torch.no_grad():
        for x, y in zip(made.peer(**named).to_tuple(), back.eval()(**named).to_tuple()):
            if isinstance(x, Tensor) and name != "bert_pretraining":
                assert torch.equal(x, y)
    again = from_pretrained(tmp_path / "back")
    assert again.spec == ours.spec or name == "bert_pretraining"
    for key, tensor in ours.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[key])


def test_labels_come_along(checkpoint, tmp_path):
    made = checkpoint("bert_classes")
    config = json.loads((made.folder / "config.json").read_text())
    names = ["red", "green", "blue", "white", "black"]
    config["id2label"] = {str(i): name for i, name in enumerate(names)}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes((made.folder / "model.safetensors").read_bytes())
    model = from_pretrained(tmp_path)
    assert model.spec.head.labels == tuple(names)
    save_pretrained(model, tmp_path / "back")
    written = json.loads((tmp_path / "back" / "config.json").read_text())
    assert list(written["id2label"].values()) == names
    assert written["label2id"] == {name: i for i, name in enumerate(names)}


def test_ends_of_texts_come_along(checkpoint):
    assert from_pretrained(checkpoint("llama").folder).spec.end == (2,)
    assert from_pretrained(checkpoint("t5").folder).spec.end == (1,)


@pytest.mark.parametrize("name", ["vit_model", "vit_relu", "bert"])
def test_poolers_equal_transformers(name: str, checkpoint):
    """ViT's `pooler_act` is part of the function; BERT's pooler is always tanh."""
    made = checkpoint(name)
    ours = from_pretrained(made.folder)
    named, given, also, _ = inputs(name, torch.float32)
    with torch.no_grad():
        pooled = ours.pool(ours(*given, **also))
        torch.testing.assert_close(pooled, made.peer(**named).pooler_output, rtol=0, atol=1e-5)
