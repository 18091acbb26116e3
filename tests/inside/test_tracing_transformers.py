"""A model of somebody else's: transformers' GPT-2, with its tied embedding, its outputs and its checkpointing."""

import pytest
import torch

import cutaway as cut

transformers = pytest.importorskip("transformers")

CONFIG = dict(vocab_size=31, n_positions=13, n_embd=8, n_layer=3, n_head=2, use_cache=False, attn_pdrop=0.0)
TOKENS = torch.arange(14).reshape(2, 7)


@pytest.fixture
def gpt2():
    config = transformers.GPT2Config(**CONFIG, resid_pdrop=0.0, embd_pdrop=0.0, attn_implementation="eager")
    return transformers.GPT2LMHeadModel(config)


def first(value):
    """Blocks give a tensor or a tuple that starts with it, by version."""
    return value[0] if isinstance(value, tuple) else value


def test_hidden_states_by_address_are_those_it_reports(gpt2):
    plain = gpt2(TOKENS, output_hidden_states=True)
    with cut.trace(gpt2, "transformer.h.*", "transformer.h.0.input", "transformer.ln_f") as seen:
        traced = gpt2(TOKENS)
    assert torch.equal(traced.logits, plain.logits)
    assert list(seen) == [f"transformer.h.{i}" for i in range(3)] + ["transformer.h.0.input", "transformer.ln_f"]
    assert torch.equal(seen["transformer.h.0.input"], plain.hidden_states[0])
    assert torch.equal(first(seen["transformer.h.1"]), plain.hidden_states[2])
    assert torch.equal(seen["transformer.ln_f"], plain.hidden_states[3])


def test_everything_can_be_read_without_changing_a_bit(gpt2):
    plain = gpt2(TOKENS).logits
    with cut.trace(gpt2, "**") as seen:
        assert torch.equal(gpt2(TOKENS).logits, plain)
    assert "transformer.h.2.attn.c_attn" in seen


def test_its_outputs_keep_their_class(gpt2):
    with cut.trace(gpt2, "transformer", clone=True) as seen:
        gpt2(TOKENS)
    output = seen["transformer"]
    assert type(output).__name__ == "BaseModelOutputWithPastAndCrossAttentions"
    assert output.last_hidden_state is output["last_hidden_state"]
    assert output.last_hidden_state.shape == (2, 7, 8)


def test_a_patched_block_changes_the_logits_as_its_mean_by_hand(gpt2):
    plain = gpt2(TOKENS).logits
    with cut.patch(gpt2, {"transformer.h.1.mlp": lambda y: torch.zeros_like(y)}):
        ablated = gpt2(TOKENS).logits
    kept = gpt2.transformer.h[1].mlp.c_proj
    weight, bias = kept.weight.data.clone(), kept.bias.data.clone()
    kept.weight.data.zero_()
    kept.bias.data.zero_()
    torch.testing.assert_close(ablated, gpt2(TOKENS).logits)
    kept.weight.data.copy_(weight)
    kept.bias.data.copy_(bias)
    assert not torch.allclose(ablated, plain)
    assert torch.equal(gpt2(TOKENS).logits, plain)


def test_the_tied_matrix_is_two_sites(gpt2):
    """The embedding and the head share a weight, not a module: each has its own value and gradient."""
    assert gpt2.lm_head.weight is gpt2.transformer.wte.weight
    with cut.trace(gpt2, "transformer.wte", "lm_head", gradients=True) as seen:
        gpt2(TOKENS).logits.logsumexp(-1).sum().backward()
    assert seen.gradient["transformer.wte"].shape == (2, 7, 8)
    total = torch.zeros_like(gpt2.lm_head.weight)
    total.index_add_(0, TOKENS.flatten(), seen.gradient["transformer.wte"].reshape(-1, 8))
    with cut.trace(gpt2, "lm_head.input") as inputs:
        gpt2(TOKENS)
    total += seen.gradient["lm_head"].reshape(-1, 31).T @ inputs["lm_head.input"].reshape(-1, 8)
    torch.testing.assert_close(gpt2.lm_head.weight.grad, total)


def test_every_step_of_generation_is_a_call(gpt2):
    with cut.trace(gpt2, "transformer.h.0.attn.c_attn") as seen:
        gpt2.generate(TOKENS, max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert len(seen.calls["transformer.h.0.attn.c_attn"]) == 3


def test_its_gradient_checkpointing(gpt2):
    def loss() -> torch.Tensor:
        return gpt2(TOKENS, labels=TOKENS).loss

    edit = {"transformer.h.1.mlp": lambda y: 2 * y}
    with cut.patch(gpt2, edit), cut.trace(gpt2, "transformer.h.*.mlp", gradients=True) as plain:
        loss().backward()
    expected = {name: p.grad.clone() for name, p in gpt2.named_parameters()}
    gpt2.zero_grad()
    gpt2.gradient_checkpointing_enable({"use_reentrant": False})
    gpt2.train()
    with cut.patch(gpt2, edit), cut.trace(gpt2, "transformer.h.*.mlp", gradients=True) as seen:
        loss().backward()
    for name, p in gpt2.named_parameters():
        torch.testing.assert_close(p.grad, expected[name], rtol=1e-5, atol=1e-7)
    for address in plain:
        assert len(seen.calls[address]) == 1
        torch.testing.assert_close(seen.gradient[address], plain.gradient[address], rtol=1e-5, atol=1e-7)
    with cut.patch(gpt2, edit):
        early = loss()
    with pytest.raises(ValueError, match=r"got backward after the patch of 'transformer.h.1.mlp' was closed"):
        early.backward()


def test_addresses_with_shapes(gpt2):
    listed = cut.addresses(gpt2, TOKENS)
    assert listed["transformer.wte"] == (2, 7, 8)
    assert listed["transformer.h.2.attn.c_attn"] == (2, 7, 24)
    assert listed["lm_head"] == (2, 7, 31)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_gradients_at_t5s_modules_leave_its_logits_alone(attention):
    """Its attention also returns the position bias: a constant in the decoder's cross-attention."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=31, d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=4, decoder_start_token_id=0, use_cache=False
    )
    config._attn_implementation = attention
    t5 = transformers.T5ForConditionalGeneration(config).eval()
    addresses = ["decoder.block.0", "decoder.block.1", "decoder.block.*.layer.1.EncDecAttention", "encoder.block.0"]
    plain = t5(input_ids=TOKENS, decoder_input_ids=TOKENS).logits
    for address in addresses:
        with cut.trace(t5, address, gradients=True) as seen:
            logits = t5(input_ids=TOKENS, decoder_input_ids=TOKENS).logits
            logits.sum().backward()
        assert torch.equal(logits, plain), address
        assert all(first(gradient).shape == (2, 7, 16) for gradient in seen.gradient.values())
