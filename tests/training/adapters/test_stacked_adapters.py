"""Adapters of an earlier tuning: taken off, put on again, built anew, and under those of the next."""

import pytest
import torch

import cutaway as cut
from cutaway.models.specs.parts import HeadSpec
from cutaway.training.adapters.records import adapters_of
from cutaway.training.adapters.stacked_adapters import build_stack, put_on, rebuilt, stack_facts, take_off

TOKENS = torch.tensor([[1, 2, 3, 4]])


def tuned(width: int = 3) -> cut.models.BERT:
    torch.manual_seed(0)
    spec = cut.models.BERTSpec.bert(vocabulary=10, width=8, depth=2, heads=2, context=8, dropout=0.0)
    model = cut.models.BERT(spec.but(head=HeadSpec("classes", classes=3)))
    cut.adapter(model, "blocks.*", width=width, train="head")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "adapters." in name or name.startswith("head."):
                parameter.normal_()
    return model.eval()


def test_off_and_on_again_is_the_same_model():
    model = tuned()
    before = model(TOKENS)
    head = {name: x.clone() for name, x in model.head.state_dict().items()}
    stack = take_off(model)
    assert not adapters_of(model)
    assert all(torch.equal(x, head[name]) for name, x in model.head.state_dict().items())  # what was trained stays
    assert not torch.allclose(model(TOKENS), before)
    put_on(model, stack)
    assert torch.equal(model(TOKENS), before)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_a_second_adapter_comes_after_the_first():
    model = tuned()
    put_on(model, take_off(model))
    before = model(TOKENS)
    cut.adapter(model, "blocks.*", width=5)
    assert list(adapters_of(model)) == ["earlier1", "default"]
    assert torch.equal(model(TOKENS), before)
    state = model.state_dict(keep_vars=True)
    names = {name.rpartition(".")[0] for name, parameter in state.items() if parameter.requires_grad}
    assert names == {f"blocks.{i}.adapters.default" for i in (0, 1)}
    second = model.blocks[0].held.get_submodule("default")
    with torch.no_grad():
        second.up.normal_()
    first = model.blocks[0].held.get_submodule("earlier1")
    x = torch.randn(1, 4, 8)
    assert torch.equal(model.blocks[0](x), second(first(model.blocks[0].base(x))))


def test_a_stack_is_built_again_by_what_was_noted():
    model = tuned()
    put_on(model, take_off(model))
    cut.adapter(model, "blocks.1", width=5)
    put_on(model, take_off(model))
    facts = stack_facts(model)
    assert facts == [{"width": 3, "targets": ["blocks.0", "blocks.1"]}, {"width": 5, "targets": ["blocks.1"]}]
    other = cut.models.BERT(model.spec)
    build_stack(other, facts)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.eval()(TOKENS), model(TOKENS))


def test_a_model_rebuilt_under_another_head_keeps_its_adapters():
    model = tuned()
    states = model.encode(TOKENS)
    new = rebuilt(model, lambda m: m.with_labels(["a", "b"]))
    assert new.eval()(TOKENS).shape == (1, 2)
    assert torch.equal(new.encode(TOKENS), states)
    assert torch.equal(model.encode(TOKENS), states)  # that of the base, too
    with pytest.raises(ValueError, match="adapters"):
        tuned().with_labels(["a", "b"])
