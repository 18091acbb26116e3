"""cut.lora on models: what it changes, what it leaves, several adapters on one base, and taking them off again."""

import copy

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import LoRA, LowRank

TOKENS = torch.arange(8).view(2, 4)
QUERIES_VALUES = ["blocks.*.attention.queries", "blocks.*.attention.values"]


def gpt(**more):
    torch.manual_seed(0)
    return cut.models.GPT(vocabulary=11, width=8, depth=2, heads=2, context=4, **more)


def draw(model, seed=1, name="default"):
    """As if trained."""
    torch.manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, LoRA) and name in layer.lora:
            for update in layer.updates(name).values():
                nn.init.normal_(update.b, std=0.5)
    return model


def same(x, y):
    return all(torch.equal(x[name], y[name]) for name in y) and list(x) == list(y)


def test_it_changes_nothing_at_first_and_freezes_what_was_there():
    model = gpt()
    before = model(TOKENS)
    summary = cut.lora(model, QUERIES_VALUES, rank=2)
    assert torch.equal(model(TOKENS), before)
    assert summary.trainable == 2 * 2 * (8 * 2 + 2 * 8)
    assert summary.targets == tuple(f"blocks.{i}.attention.{part}" for i in (0, 1) for part in ("queries", "values"))
    assert str(summary).startswith("LoRA 'default' in 4 places: 128 of ")
    assert all((".lora." in name) == p.requires_grad for name, p in model.named_parameters())


def test_it_is_the_matrix_with_the_product_added():
    model = gpt().double()
    cut.lora(model, "blocks.0.attention.values", rank=2, alpha=6)
    draw(model)
    layer = model.blocks[0].attention.qkv
    update = layer.updates("default")["values"]
    by_hand = gpt().double()
    with torch.no_grad():
        by_hand.blocks[0].attention.qkv.weight[:, 16:] += 3 * update.a @ update.b
    torch.testing.assert_close(model(TOKENS), by_hand(TOKENS), rtol=1e-12, atol=1e-12)


def test_it_is_removable_and_the_base_is_as_before_bit_for_bit():
    model = gpt()
    model.norm.requires_grad_(False)
    state, kinds = copy.deepcopy(model.state_dict()), [type(module) for module in model.modules()]
    summary = cut.lora(model, "all-linear", biases="all", train="norm")
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model(TOKENS).square().sum().backward()
    optimizer.step()
    assert not torch.equal(model.norm.weight, state["norm.weight"])
    summary.remove()
    assert same(model.state_dict(), state)
    assert [type(module) for module in model.modules()] == kinds
    assert {name for name, p in model.named_parameters() if not p.requires_grad} == {"norm.weight", "norm.bias"}
    cut.lora(model, "all-linear")  # and again


@pytest.mark.parametrize("biases", ["none", "lora", "all"])
def test_biases(biases):
    model = gpt()
    cut.lora(model, "blocks.*.mlp.up", biases=biases)
    trained = {name for name, p in model.named_parameters() if p.requires_grad and ".lora." not in name}
    every = {name for name, _ in model.named_parameters() if name.endswith(".bias")}
    assert trained == {"none": set(), "lora": {f"blocks.{i}.mlp.up.base.bias" for i in (0, 1)}, "all": every}[biases]


def test_adapters_on_one_base_are_switched():
    model = gpt().eval()
    base = model(TOKENS)
    cut.lora(model, "blocks.*.attention", name="a", train="norm")
    draw(model, 1, "a")
    with torch.no_grad():
        model.norm.bias += 1
    one = model(TOKENS)
    cut.lora(model, "blocks.*.mlp", rank=4, name="b", biases="lora")
    assert torch.equal(model(TOKENS), one)  # a new one changes nothing
    assert not any(p.requires_grad for name, p in model.named_parameters() if ".lora.a." in name)
    draw(model, 2, "b")
    both = model(TOKENS)
    cut.use(model, "b")
    other = model(TOKENS)
    assert {
        name.split(".lora.")[1][0] for name, p in model.named_parameters() if p.requires_grad and "lora" in name
    } == {"b"}
    cut.use(model, "a")
    assert torch.equal(model(TOKENS), one)
    assert model.norm.bias.requires_grad
    with cut.use(model, None):
        assert torch.equal(model(TOKENS), base)
        assert not any(p.requires_grad for p in model.parameters())
    assert torch.equal(model(TOKENS), one)
    cut.use(model, ["a", "b"])
    assert torch.equal(model(TOKENS), both)
    cut.remove_adapter(model, "a")
    assert torch.equal(model(TOKENS), other)
    cut.remove_adapter(model, "b")
    assert torch.equal(model(TOKENS), base)
    assert all(p.requires_grad for p in model.parameters())


def test_two_adapters_cannot_both_train_one_parameter_in_full():
    model = gpt()
    cut.lora(model, "blocks.*.attention", name="a", train="norm")
    cut.use(model, None)
    cut.lora(model, "blocks.*.attention", name="b", train="norm")
    with pytest.raises(ValueError, match="must not train the same parameters in full, got a, b; use one"):
        cut.use(model, ["a", "b"])
    with torch.no_grad():
        model.norm.bias += 1
    cut.use(model, "a")
    assert model.norm.bias.sum() == 0
    cut.use(model, "b")
    assert model.norm.bias.sum() == 8


def test_state_and_copies():
    model = draw(cut.lora(gpt(), "blocks.*.attention.out").model)
    base, state = gpt().state_dict(), model.state_dict()
    assert set(state) - set(base) == {name for name in state if ".lora." in name}
    other = gpt()
    cut.lora(other, "blocks.*.attention.out")
    other.load_state_dict(state)
    assert torch.equal(other(TOKENS), model(TOKENS))
    twin = copy.deepcopy(model)
    assert torch.equal(twin(TOKENS), model(TOKENS))
    cut.remove_adapter(twin)
    assert torch.equal(twin(TOKENS), gpt()(TOKENS))
    assert not torch.equal(model(TOKENS), twin(TOKENS))


def test_trace_and_patch_see_through_it():
    model = gpt().eval()
    plain = set(cut.addresses(model))
    with cut.trace(model, "blocks.0.attention.qkv", "blocks.0.attention.queries") as before:
        model(TOKENS)
    draw(cut.lora(model, QUERIES_VALUES).model)
    assert plain <= set(cut.addresses(model))
    out = model(TOKENS)
    low = "blocks.0.attention.qkv.lora.default.queries.low"
    with cut.trace(model, "blocks.0.attention.qkv", low, "**.update", gradients=False) as seen:
        assert torch.equal(model(TOKENS), out)
    assert seen[low].shape == (2, 4, 8)
    change = seen["blocks.0.attention.qkv"] - before["blocks.0.attention.qkv"]
    torch.testing.assert_close(change[..., :8], seen["blocks.0.attention.qkv.lora.default.queries.update"])
    with cut.patch(model, {"**.update": 0.0}):
        torch.testing.assert_close(model(TOKENS), gpt().eval()(TOKENS))
    with cut.trace(model, low, gradients=True) as seen:
        model(TOKENS).sum().backward()
    assert seen.gradient[low].shape == (2, 4, 8)


def test_generation_runs_on_it():
    model = draw(cut.lora(gpt().eval(), "blocks.*").model)
    with torch.no_grad():
        whole = model(TOKENS[:1])
        cache = model.new_cache(1)
        steps = [model(TOKENS[:1, i : i + 1], cache=cache) for i in range(4)]
    torch.testing.assert_close(torch.cat(steps, 1), whole)


def test_cross_attention_takes_its_columns():
    torch.manual_seed(0)
    make = lambda: cut.models.T5(vocabulary=11, width=8, depth=1, heads=2).eval()
    torch.manual_seed(0)
    model = make().double()
    draw(cut.lora(model, "**.cross").model)
    tokens = TOKENS[:1]
    before = model(tokens, tokens)
    cut.merge(model)
    torch.testing.assert_close(model(tokens, tokens), before)


def test_shared_layers_are_wrapped_once():
    shared = nn.Linear(3, 3)
    model = nn.Sequential(shared, nn.Tanh(), shared)
    cut.lora(model, "**", rank=2)
    assert model[0] is model[2]
    x = torch.randn(4, 3)
    draw(model)
    before = model(x)
    cut.merge(model)
    assert model[0] is model[2] is shared
    torch.testing.assert_close(model(x), before)


def test_any_module_with_linear_layers():
    from transformers import GPT2Config, GPT2LMHeadModel

    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_embd=8, n_layer=2, n_head=2, n_positions=8)).eval()
    before = theirs(TOKENS).logits
    summary = cut.lora(theirs, "transformer.h.*.attn.c_attn", rank=2)
    assert torch.equal(theirs(TOKENS).logits, before)
    assert summary.trainable == 2 * 2 * (8 + 24)
    tuned = draw(theirs)(TOKENS).logits
    cut.merge(theirs)
    torch.testing.assert_close(theirs(TOKENS).logits, tuned, rtol=1e-4, atol=1e-5)


def test_training_with_checkpointing_and_a_frozen_embedding():
    """The inputs of the first checkpointed layer need no gradient: a recomputation must happen all the same."""
    plain, saving = (draw(cut.lora(gpt(), "blocks.*", rank=2).model) for _ in range(2))
    saving.spec = saving.spec.but(checkpointing=True)
    for model in (plain, saving):
        model.train()(TOKENS).square().mean().backward()
    for p, q in zip(plain.parameters(), saving.parameters(), strict=True):
        assert (p.grad is None) == (not p.requires_grad)
        if p.grad is not None:
            torch.testing.assert_close(p.grad, q.grad)


def test_on_the_meta_device_and_in_half_precision():
    with torch.device("meta"):
        model = gpt()
    cut.lora(model, "all-linear")
    assert all(p.is_meta for p in model.parameters())
    half = gpt().to(torch.bfloat16)
    cut.lora(half, "all-linear")
    assert {p.dtype for name, p in half.named_parameters() if ".lora." in name} == {torch.float32}
    assert half(TOKENS).dtype == torch.bfloat16


def test_a_new_head_is_not_put_onto_an_adapted_model():
    """Its updates would be lost without a word."""
    from cutaway.models.base import with_head

    model = gpt()
    cut.lora(model, "blocks.*.mlp")
    with pytest.raises(ValueError, match=r"also has blocks.0.mlp.up.lora.default.whole.a; take adapters off, or merge"):
        with_head(model, None)
    with pytest.raises(ValueError, match="merge adapters into the weights first"):
        cut.save_pretrained(model, "nowhere")
    cut.merge(model)
    with_head(model, None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 2.5}, r"rank must be a whole number, got 2\.5; try rank=8 \(at 0\)"),
        ({"rank": True}, "rank must be a whole number, got True"),
        ({"rank": "8"}, "rank must be a whole number, got '8'"),
        ({"rank": 1, "alpha": "x"}, "alpha must be a number, got 'x'; try alpha=1"),
        ({"targets": []}, "LoRA needs layers to be put onto, got no target"),
        ({"targets": None}, "a target must be an address or a glob, got None"),
    ],
)
@pytest.mark.untyped
def test_odd_settings_are_refused_and_change_nothing(settings, message):
    model = nn.Sequential(nn.Linear(8, 8))
    with pytest.raises(ValueError, match=message):
        cut.lora(model, **{"targets": "0"} | settings)
    assert type(model[0]) is nn.Linear
    assert all(p.requires_grad for p in model.parameters())


def test_lazy_layers_have_no_sizes_yet():
    model = nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 8))
    for change in (cut.lora, cut.freeze):
        with pytest.raises(ValueError, match=r"got 0\.weight of a lazy one; run a batch through the model first"):
            change(model, "**")


def test_mistakes():
    model = gpt()
    with pytest.raises(ValueError, match=r"rank=9 for 8 × 8; try rank=8 \(at blocks.0.attention.queries\)"):
        cut.lora(model, "blocks.*.attention", rank=9)
    with pytest.raises(ValueError, match="biases must be one of none, all, lora, got 'some'"):
        cut.lora(model, biases="some")
    with pytest.raises(ValueError, match=r"a word without dots, got 'a\.b'; try 'a-b'"):
        cut.lora(model, name="a.b")
    with pytest.raises(ValueError, match="not be one that torch uses, got 'forward'; try 'forward-adapter'"):
        cut.lora(model, name="forward")
    with pytest.raises(ValueError, match="got 'nothing'"):
        cut.lora(model, train="nothing")
    assert not any(isinstance(module, LoRA | LowRank) for module in model.modules())  # nothing was half done
    assert all(p.requires_grad for p in model.parameters())
    with pytest.raises(ValueError, match=r"one of the model's, got 'default'; it has none: see cut.lora"):
        cut.remove_adapter(model)
    cut.lora(model)
    with pytest.raises(ValueError, match="has an adapter named 'default' already; pass another name="):
        cut.lora(model)
    with pytest.raises(ValueError, match="one of the model's, got 'other'; it has default"):
        cut.use(model, "other")


@pytest.mark.untyped
def test_compiled_before_and_after():
    for first in (True, False):
        torch._dynamo.reset()
        model = gpt()
        run = torch.compile(model, fullgraph=True, backend="aot_eager")
        if first:
            torch.testing.assert_close(run(TOKENS), model(TOKENS))
        cut.lora(run if first else model, QUERIES_VALUES, dropout=0.1)
        draw(model).eval()
        tuned = model(TOKENS)
        torch.testing.assert_close(run(TOKENS), tuned)
        with cut.use(model, None):
            torch.testing.assert_close(run(TOKENS), gpt().eval()(TOKENS))
        cut.merge(model)
        torch.testing.assert_close(run(TOKENS), tuned)
        cut.unmerge(model)
        torch.testing.assert_close(run(TOKENS), tuned)
        run(TOKENS).sum().backward()
        assert {name for name, p in model.named_parameters() if p.grad is not None} == {
            name for name, _ in model.named_parameters() if ".lora." in name
        }


def test_convolutions_are_named_by_address():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 8), nn.Linear(8, 2))
    x = torch.randn(3, 1, 4, 4)
    before = model(x)
    assert cut.lora(model, rank=2, name="linear").targets == ("3",)  # peft's all-linear has none of them
    both = cut.lora(model, ["all-linear", "0"], rank=2, name="both")
    assert both.targets == ("0", "3")
    assert torch.equal(model(x), before)
    assert cut.lora(model, "**", rank=1, name="all").targets == ("0", "3", "4")
    torch.nn.init.normal_(model[0].updates("both")["whole"].b)
    changed = model(x)
    cut.merge(model)
    torch.testing.assert_close(model(x), changed)
    assert type(model[0]) is nn.Conv2d
    cut.unmerge(model)
    assert torch.equal(model(x), changed)
    with pytest.raises(ValueError, match=r"got rank=5 for 9 × 4; try rank=4 \(at 0\)"):
        cut.lora(model, "0", rank=5, name="more")
    with pytest.raises(ValueError, match=r"with no other: 0, 2; name the layers, or what holds them: convolutions too"):
        cut.lora(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(16, 2)))


def test_weights_in_any_layout_are_merged():
    model = nn.Sequential(nn.Conv2d(3, 4, 3)).double().to(memory_format=torch.channels_last)
    cut.lora(model, "0", rank=2)
    torch.nn.init.normal_(model[0].updates("default")["whole"].b)
    x = torch.randn(2, 3, 5, 5, dtype=torch.float64).to(memory_format=torch.channels_last)
    y = model(x)
    cut.merge(model)
    torch.testing.assert_close(model(x), y, rtol=1e-12, atol=1e-12)
    normed = nn.Sequential(torch.nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 3)))
    cut.lora(normed, "0", rank=2)
    with pytest.raises(ValueError, match="got a ParametrizedConv2d whose weight is computed from other tensors"):
        cut.merge(normed)
