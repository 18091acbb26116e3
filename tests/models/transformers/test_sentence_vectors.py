"""Sentence vectors: each text as if it were alone, whatever goes through the model with it."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.data.text.special_tokens import SPECIAL_TOKENS, frame
from cutaway.data.text.tokenizers import Bytes
from cutaway.models import BERT, GPT, BERTSpec, GPTSpec, SentenceSpec
from cutaway.models.transformers.sentence_vectors import (
    batches_by_length,
    embed_rows,
    encode_texts,
    padded,
    sentence_vectors,
)

TEXTS = ["short", "", "a text of some more letters", "äöü", "x" * 40, "short"]


def build(sentence: SentenceSpec | None = None, kind: str = "bert", dtype: torch.dtype = torch.float64):
    torch.manual_seed(0)
    sizes = dict(vocabulary=260, width=12, depth=2, heads=3, context=32)
    spec = BERTSpec.bert(**sizes) if kind == "bert" else GPTSpec.gpt2(**sizes)
    model = (BERT if kind == "bert" else GPT)(spec.but(sentence=sentence)).to(dtype)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    model.tokenizer = frame(Bytes(SPECIAL_TOKENS)) if kind == "bert" else Bytes()
    return model


POOLS = {
    "cls": lambda z: z[0],
    "last": lambda z: z[-1],
    "mean": lambda z: z.mean(0),
    "max": lambda z: z.amax(0),
    "mean_sqrt": lambda z: z.sum(0) / len(z) ** 0.5,
    "weighted": lambda z: sum((i + 1) * row for i, row in enumerate(z)) / (len(z) * (len(z) + 1) / 2),
}


@pytest.mark.parametrize("pooling", POOLS)
@pytest.mark.parametrize("kind", ["bert", "gpt"])
def test_each_text_as_if_alone(pooling: str, kind: str):
    model = build(SentenceSpec((pooling,), normalize=False), kind)
    with pytest.warns(UserWarning, match="1 of 6 have more"):
        found = model.embed(TEXTS, batch=4)
    for text, vector in zip(TEXTS, found):
        ids = list(text.encode())
        ids = [257, *ids[:30], 258] if kind == "bert" else ids[:32]
        if not ids:
            assert torch.equal(vector, torch.zeros_like(vector))  # no token at all
            continue
        z = model.token_states(torch.tensor([ids]))[0]
        torch.testing.assert_close(vector, POOLS[pooling](z).detach())


def test_several_poolings_and_dense_layers():
    spec = SentenceSpec(("cls", "mean"), layers=((5, "tanh", True), (3, "identity", False)))
    model = build(spec)
    (ids,), _ = encode_texts(model, ["text"])
    z = model.token_states(torch.from_numpy(ids)[None])[0]
    first, second = model.sentence_layers
    s = torch.cat([z[0], z.mean(0)])
    s = torch.tanh(s @ first.linear.weight + first.linear.bias) @ second.linear.weight
    torch.testing.assert_close(model.embed("text"), (s / s.norm()).detach())
    assert BERTSpec.from_dict(model.spec.to_dict()) == model.spec


def test_a_prompt_stands_before_every_text():
    spec = SentenceSpec(prompts=(("query", "ask: "), ("passage", "read: ")), prompt="query")
    model, plain = build(spec), build()
    torch.testing.assert_close(model.embed(["text"]), plain.embed(["ask: text"]))
    torch.testing.assert_close(model.embed(["text"], prompt="passage"), plain.embed(["read: text"]))
    torch.testing.assert_close(model.embed(["text"], prompt="as it is, "), plain.embed(["as it is, text"]))
    torch.testing.assert_close(model.embed(["text"], prompt=""), plain.embed(["text"]))


def test_dropout_is_off_and_the_mode_is_kept():
    model = build()
    model = BERT(model.spec.but(dropout=0.5, attention__dropout=0.5)).train()
    model.tokenizer = build().tokenizer
    assert torch.equal(model.embed("text"), model.embed("text"))
    assert model.training
    assert model.blocks[0].training
    assert not model.embed("text").requires_grad


def test_gradients_reach_the_model_by_tokens():
    model = build()
    tokens, mask = torch.tensor([[257, 9, 258], [257, 258, 0]]), torch.tensor([[True] * 3, [True, True, False]])
    sentence_vectors(model, tokens, mask).sum().backward()
    assert model.embed.weight.grad[9].abs().sum() > 0
    assert model.embed.weight.grad[0].abs().sum() == 0  # padding


def test_half_precision_and_no_texts():
    assert build(dtype=torch.bfloat16).embed(["a", "bc"]).dtype == torch.bfloat16
    assert build().embed([]).shape == (0, 12)
    assert build().embed(np.array(["a", "b"])).shape == (2, 12)
    assert build().embed(text for text in ("a", "b")).shape == (2, 12)


def test_texts_that_fit_are_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build().embed(["x" * 30])


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 9), st.integers(1, 200))
def test_batches_hold_every_row_once(lengths: list[int], batch: int, tokens: int):
    found = batches_by_length(np.array(lengths, dtype=np.int64), batch, tokens)
    places = [i for part in found for i in part.tolist()]
    assert sorted(places) == [i for i, n in enumerate(lengths) if n]
    for part in found:
        assert len(part) <= batch
        assert len(part) == 1 or max(lengths[i] for i in part) * len(part) <= tokens
    assert [lengths[i] for i in places] == sorted((n for n in lengths if n), reverse=True)


def test_rows_of_one_length_need_no_mask():
    tokens, mask = padded([np.array([1, 2]), np.array([3, 4])])
    assert mask is None
    assert tokens.tolist() == [[1, 2], [3, 4]]
    tokens, mask = padded([np.array([1, 2]), np.array([3])])
    assert tokens.tolist() == [[1, 2], [3, 0]]
    assert mask.tolist() == [[True, True], [True, False]]


def test_rows_come_back_in_their_order():
    model = build()
    rows = [np.array([257, *[i] * i, 258]) for i in (5, 1, 9, 3)]
    together = embed_rows(model, rows, batch=2)
    for row, vector in zip(rows, together):
        torch.testing.assert_close(embed_rows(model, [row])[0], vector)


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a", None], {}, r"every text must be a str, got None at place 1; leave it out, or use str\(\)"),
        ([float("nan")], {}, "every text must be a str, got nan at place 0"),
        (7, {}, r"texts must be a str or several, got int; try model\.embed\(\['a text'\]\)"),
        (b"bytes", {}, "texts must be a str or several, got bytes"),
        (["a"], {"batch": 0}, "batch must be a whole number of at least 1, got 0; try batch=64"),
        (["a"], {"prompt": 3}, "a prompt must be a text or the name of one, got 3"),
    ],
)
def test_mistakes(texts, options, message):
    with pytest.raises(ValueError, match=message):
        build().embed(texts, **options)


@pytest.mark.untyped
def test_a_model_without_tokenizer():
    model = build()
    model.tokenizer = None
    with pytest.raises(ValueError, match="text needs a tokenizer, got a model without one"):
        model.embed("text")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(pooling=()), r"a sentence needs a pooling, got none; try pooling=\('mean',\)"),
        (dict(pooling=("median",)), "pooling must be .*, got 'median'"),
        (dict(layers=((0, "tanh", True),)), "width must be .*, got 0"),
        (dict(context=0), "context must be .*, got 0"),
        (dict(prompt="query"), "prompt must be .*, got 'query'"),
    ],
)
def test_mistakes_of_a_spec(changes, message):
    with pytest.raises(ValueError, match=message):
        SentenceSpec(**changes)
