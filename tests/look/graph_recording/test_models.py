"""Whole models: ours, torch's, those of transformers; the same bits as a plain pass, and both laws of δ."""

import pytest
import torch
from graph_laws import assert_shares_add_up, assert_totals, names
from torch import Tensor, nn
from torch.nn import functional

import cutaway as cut
from cutaway.models import GPT


def same_bits(model: nn.Module, *inputs: Tensor) -> cut.look.Graph:
    torch.manual_seed(1)
    plain = model(*inputs)
    torch.manual_seed(1)
    g = cut.graph(model, *inputs)
    plain = plain if isinstance(plain, Tensor) else plain[0]
    assert torch.equal(g.outputs[0].tensor, plain)
    return g


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gpt(dropout: float):
    model = GPT(vocabulary=11, width=8, depth=2, heads=2, context=8, dropout=dropout).double()
    tokens = torch.randint(11, (2, 8))
    g = same_bits(model, tokens)
    assert names(g).count("scaled_dot_product_attention") == 2  # the fused path: no tap is live
    assert all(not tap.live for tap in model.modules() if isinstance(tap, cut.Tap))
    g.backward(delta=torch.randn(2, 8, 11, dtype=torch.float64))
    assert assert_totals(g) > 60
    assert assert_shares_add_up(g) >= 5
    assert len(g["embed.weight"].consumers) == 2  # tied
    weight = model.embed.weight
    expected = torch.autograd.grad(g.output.tensor, weight, g.output.delta, retain_graph=True)[0]
    assert torch.equal(g.delta("embed.weight"), expected)


def test_llama_in_evaluation():
    model = GPT.llama(vocabulary=11, width=8, depth=1, heads=2, context=8).eval()
    g = same_bits(model, torch.randint(11, (2, 8)))
    g.backward(delta="ones")
    assert_totals(g)
    assert_shares_add_up(g)


def test_gpt_of_frozen_weights_still_has_deltas_from_its_input():
    model = nn.Sequential(nn.Linear(3, 3), nn.GELU()).requires_grad_(False)
    g = cut.graph(model, torch.randn(2, 3)).backward(delta="ones")
    assert g["input"].delta is not None
    assert g["0.weight"].why_no_delta == "it does not require a gradient (requires_grad is False)"


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_torchs_encoder_layer(training: bool, batch_first: bool):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first).train(training)
    x = torch.randn(3, 5, 8)
    g = same_bits(layer, x)
    assert names(g).count("multi_head_attention_forward") == 1
    g.backward(delta="ones")
    assert_totals(g)
    assert_shares_add_up(g)
    with torch.no_grad():  # in evaluation torch has one kernel for all of it, if the batch comes first
        g = same_bits(layer, x)
        assert (names(g) == ["TransformerEncoderLayer"]) == (batch_first and not training)
        assert g.nodes[0].inputs[0].value.kind == "input"


def test_torchs_attention_runs_fused_where_it_would():
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(3, 5, 8)
    with torch.no_grad():
        plain, _ = attention(query=x, key=x, value=x)
        g = cut.graph(attention, query=x, key=x, value=x)
    assert torch.equal(g.outputs[0].tensor, plain)
    assert names(g) == ["MultiheadAttention"]
    assert len(g.nodes[0].inputs) == 3
    assert g.nodes[0].module == ""


def test_torchs_transformer():
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    g = same_bits(model, torch.randn(2, 5, 8), torch.randn(2, 3, 8))
    g.backward(delta="ones")
    assert_totals(g)
    assert assert_shares_add_up(g) > 5
    assert g.modules["decoder.layers.0.multihead_attn"].kind == "MultiheadAttention"


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
@pytest.mark.long
def test_gpt2_of_transformers(kind: str):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=2, n_embd=16, n_head=2, vocab_size=50, n_positions=16, attn_implementation=kind,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).double()
    tokens = torch.randint(50, (2, 7))
    torch.manual_seed(1)
    plain = model(tokens, labels=tokens)
    torch.manual_seed(1)
    g = cut.graph(model, tokens, labels=tokens)
    assert torch.equal(g.output.logits.tensor, plain.logits)
    g.backward(g.output.loss)
    assert_totals(g)
    assert assert_shares_add_up(g) >= 5
    assert ("scaled_dot_product_attention" in names(g)) == (kind == "sdpa")
    assert g["lm_head.weight"] is g["transformer.wte.weight"]
    assert {"conv", "addmm", "softmax"} & {node.name for node in g.find("transformer.h.0.attn").nodes}
    plain.loss.backward()
    assert torch.allclose(g.delta("transformer.wte.weight"), model.transformer.wte.weight.grad)


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
@pytest.mark.long
def test_bert_of_transformers(kind: str):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=50,
        attn_implementation=kind,
    )  # fmt: skip
    model = transformers.BertModel(config).eval()
    tokens, mask = torch.randint(50, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
    g = cut.graph(model, tokens, attention_mask=mask)
    assert torch.equal(g.output.last_hidden_state.tensor, model(tokens, attention_mask=mask).last_hidden_state)
    g.backward(g.output.pooler_output, delta="ones")
    assert_totals(g)
    assert_shares_add_up(g)


@pytest.mark.untyped
def test_a_compiled_model_runs_eagerly():
    model = GPT(vocabulary=11, width=8, depth=1, heads=2, context=8)
    tokens = torch.randint(11, (2, 8))
    compiled = torch.compile(model, backend="aot_eager")
    plain = compiled(tokens)
    g = cut.graph(compiled, tokens)
    assert "blocks.0.attention" in g.modules
    assert torch.allclose(g.output.tensor, plain, atol=1e-6)
    assert torch.equal(g.output.tensor, model(tokens))
    with cut.record() as inner:
        compiled(tokens)
    assert names(inner) == names(g)
    assert torch._dynamo.eval_frame._stance.stance == "default"


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_do_not_lie(reentrant: bool):
    inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5), nn.Linear(3, 3)).double()
    run = lambda x: torch.utils.checkpoint.checkpoint(inner, x * 2, use_reentrant=reentrant).sum() + x.sum()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    plain = run(x)
    torch.manual_seed(1)
    g = cut.graph(run, x)
    assert torch.equal(g.output.tensor, plain)
    if reentrant:
        assert names(g) == ["mul", "CheckpointFunction", "sum", "sum", "add"]
        with pytest.raises(ValueError, match=r"got use_reentrant=True; pass use_reentrant=False"):
            g.backward()
        return
    assert names(g) == ["mul", "linear", "tanh", "dropout", "linear", "sum", "sum", "add"]
    g.backward()
    assert len(g.nodes) == 8  # what was computed again is no new operator
    plain.backward()
    assert torch.equal(g["x"].delta, x.grad)
    assert_shares_add_up(g)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("way", [dict(), dict(num_layers=2, bidirectional=True, batch_first=True)])
def test_recurrent_layers_are_one_node_and_open_into_cells(kind: type[nn.Module], way: dict):
    layer = kind(4, 3, **way).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    run = lambda x: (lambda out: (out[0] * 2).sum() + (x * x).sum())(layer(x))
    name = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[kind.__name__]
    closed = cut.graph(run, x)
    assert names(closed).count(name) == 1
    node = next(node for node in closed.nodes if node.name == name)
    assert node.opened is None
    g = cut.graph(run, x, opened=name).backward()
    assert torch.equal(g.output.tensor, closed.output.tensor)
    assert_shares_add_up(g)
    node = next(node for node in g.nodes if node.name == name)
    steps, rounds = (5, 4) if way else (2, 1)
    assert [inner.name for inner in node.opened].count(f"{name}_cell") == steps * rounds
    assert_shares_add_up(node.inside)
    first = node.inside.inputs[0]
    assert torch.allclose(first.delta, node.inputs[0].delta)


def test_attention_opens_into_its_equation():
    model = GPT(vocabulary=11, width=8, depth=2, heads=2, context=8).double()
    tokens = torch.randint(11, (1, 8))
    g = cut.graph(model, tokens, opened="blocks.1.**.scaled_dot_product_attention").backward(delta="ones")
    closed, node = (node for node in g.nodes if node.name == "scaled_dot_product_attention")
    assert closed.opened is None
    assert [inner.name for inner in node.opened if inner.inputs][-2:] == ["softmax", "matmul"]
    weights = node.inside["softmax 1"]
    with cut.trace(model, "blocks.1.attention.weights") as seen:
        model(tokens)
    assert torch.allclose(weights.tensor, seen["blocks.1.attention.weights"])
    for edge, value in zip(node.inputs, node.inside.inputs):
        assert torch.allclose(value.delta, edge.delta)
    assert torch.equal(g.output.tensor, model(tokens))


def test_multihead_attention_opens_with_its_dropout():
    layer = nn.MultiheadAttention(4, 2, dropout=0.5).double()
    x = torch.randn(5, 2, 4, dtype=torch.float64)
    g = cut.graph(lambda x: layer(x, x, x)[0].sum() + x.sum(), x, opened=True).backward()
    node = g.nodes[0]
    assert (node.name, node.module) == ("multi_head_attention_forward", "MultiheadAttention")
    assert "softmax" in [inner.name for inner in node.opened]
    assert "dropout" in [inner.name for inner in node.opened]
    assert_shares_add_up(g)
    assert_shares_add_up(node.inside)


def test_packed_sequences():
    x = torch.randn(3, 5, 4)
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 4, 2], batch_first=True)
    layer = nn.LSTM(4, 3)
    g = cut.graph(layer, packed)
    assert torch.equal(g.outputs[0].tensor, layer(packed)[0].data)


def test_convolutions():
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2)
    ).double()
    classes = torch.tensor([0, 1])
    g = cut.graph(lambda x: functional.cross_entropy(model(x), classes), torch.randn(2, 1, 8, 8).double())
    assert [n for n in names(g) if n != "add_"] == [
        *("conv2d", "batch_norm", "relu", "max_pool2d", "flatten", "linear", "cross_entropy")
    ]
    g.backward()
    assert_totals(g)
    assert_shares_add_up(g)
