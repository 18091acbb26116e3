"""The table of token vectors: rows for tokens, sentence vectors for texts, and no second owner of the model."""

import copy
import gc
import pickle
import weakref

import pytest
import torch

import cutaway as cut
from cutaway.data.text.tokenizers import Bytes
from cutaway.models import BERT, GPT, T5, Transformer

SIZES = dict(vocabulary=256, width=12, depth=2, heads=3)
MODELS = {
    "BERT": lambda: BERT(**SIZES, context=16),
    "GPT": lambda: GPT(**SIZES, context=16),
    "Llama": lambda: GPT.llama(**SIZES, context=16),
    "T5": lambda: T5(**SIZES),
    "Transformer": lambda: Transformer(**SIZES, context=16),
}
every_model = pytest.mark.parametrize("name", MODELS)


def build(name: str):
    torch.manual_seed(0)
    model = MODELS[name]()
    model.tokenizer = Bytes()
    return model


@every_model
def test_tokens_and_texts(name: str):
    model, tokens = build(name), torch.tensor([[3, 1], [4, 1]])
    assert torch.equal(model.embed(tokens), model.embed.weight[tokens])
    found = model.embed(["ab", "a longer text"])
    assert found.shape == (2, 12)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(model.embed("ab"), found[0])


@every_model
def test_the_state_is_the_table_alone(name: str):
    model = build(name)
    assert [key for key in model.state_dict() if key.startswith("embed.")] == ["embed.weight"]
    assert "embed" in dict(model.named_modules())
    assert len({id(module) for module in model.modules()}) == len(list(model.modules()))


@every_model
@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_asks_the_copy(name: str, again):
    model = build(name)
    before = model.embed("text")
    other = again(model)
    assert torch.equal(other.embed("text"), before)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(torch.randn_like(p))
    assert not torch.allclose(other.embed("text"), before)
    assert torch.equal(model.embed("text"), before)


@pytest.fixture
def without_cycles():
    """A cycle of references would keep a model's memory until Python looks for cycles: none may be needed."""
    gc.disable()
    yield
    gc.enable()


def test_the_model_is_freed_at_once(without_cycles):
    model = build("BERT")
    model.embed("text")
    model.embed(torch.tensor([[1]]))
    alive = weakref.ref(model)
    del model
    assert alive() is None


def test_a_model_that_nobody_keeps_can_be_asked(without_cycles):
    """As in `cut.from_pretrained(folder).embed(texts)`."""
    found = build("BERT").embed("text")
    assert torch.equal(found, build("BERT").embed("text"))
    model = build("BERT")
    alive, table = weakref.ref(model), model.embed
    del model
    assert torch.equal(table("text"), found)
    assert alive() is None  # asked once, it is free
    with pytest.raises(ValueError, match=r"embedded by a whole model, got its token table alone; keep the model"):
        table(["text"])
    with pytest.raises(ValueError, match="table alone"):
        copy.deepcopy(table)("text")


def test_a_trace_sees_one_call():
    model = build("BERT")
    with cut.trace(model, "embed", "blocks.1") as seen:
        model.embed(["ab", "cd"])
    assert seen["embed"].shape == (2, 2, 12)
    with cut.patch(model, {"embed": lambda x: x * 0}):
        silent = model.embed(["ab", "cd"])
    torch.testing.assert_close(silent[0], silent[1])


@pytest.mark.untyped
def test_compiles_whole():
    model, tokens = build("BERT"), torch.tensor([[3, 1], [4, 1]])
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(tokens), model(tokens))
    assert torch.equal(compiled.embed("text"), model.embed("text"))
