"""Adapters of peft that begin by changing the base: some give peft's logits, others are refused."""

import json
import warnings

import peft
import pytest
import torch
import transformers

import cutaway as cut
from cutaway.hub.adapter_starts import expect_known_start, taken_off
from cutaway.hub.peft_config import CONFIG

SIZES = {"vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
GPT2 = {"vocab_size": 61, "n_positions": 23, "n_embd": 12, "n_layer": 2, "n_head": 3, "bos_token_id": 0}
KINDS = {
    "llama": ("LlamaForCausalLM", SIZES | {"num_key_value_heads": 2}, "all-linear"),
    "bert": ("BertForSequenceClassification", SIZES, ["query", "dense"]),
    "gpt2": ("GPT2LMHeadModel", GPT2 | {"eos_token_id": 0}, ["c_attn", "c_fc"]),
}
TOKENS = torch.arange(3, 17).view(2, 7)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tuned(kind, folder, start, **more):
    """A random checkpoint and an adapter of peft on it, moved as training would; their logits as peft loads them."""
    name, sizes, targets = KINDS[kind]
    torch.manual_seed(0)
    maker = getattr(transformers, name)
    maker(maker.config_class(**sizes)).save_pretrained(folder / "base")
    load = lambda: maker.from_pretrained(folder / "base").eval()
    wanted = peft.LoraConfig(
        target_modules=more.pop("targets", targets), r=3, lora_alpha=7, init_lora_weights=start, **more
    )
    model = peft.get_peft_model(load(), wanted)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "lora_" in key:
                p.add_(0.05 * torch.randn_like(p))
    model.save_pretrained(folder / "adapter")
    expected = peft.PeftModel.from_pretrained(load(), folder / "adapter").eval()(TOKENS).logits
    torch.testing.assert_close(expected, model.eval()(TOKENS).logits, rtol=0, atol=2e-5)
    return expected


@pytest.mark.parametrize("start", ["pissa", "PISSA", "olora", "gaussian", "orthogonal", True, False])
@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_logits_are_those_of_peft(kind, start, tmp_path):
    if start == "PISSA":  # as a file may say it; peft itself takes the small letters
        expected = tuned(kind, tmp_path, "pissa")
        config = json.loads((tmp_path / "adapter" / CONFIG).read_text())
        (tmp_path / "adapter" / CONFIG).write_text(json.dumps(config | {"init_lora_weights": start}))
    else:
        expected = tuned(kind, tmp_path, start, rank_pattern={".*": 4} if start == "orthogonal" else {})  # an even one
    model = cut.from_pretrained(tmp_path / "base")
    before = model(TOKENS)
    cut.load_adapter(model, tmp_path / "adapter")
    assert (expected - before).abs().max() > 1e-3
    torch.testing.assert_close(model(TOKENS), expected, rtol=0, atol=2e-5)
    cut.save_adapter(model, tmp_path / "again")
    assert json.loads((tmp_path / "again" / CONFIG).read_text())["init_lora_weights"] is True
    other = getattr(transformers, KINDS[kind][0]).from_pretrained(tmp_path / "base")
    back = peft.PeftModel.from_pretrained(other, tmp_path / "again").eval()
    torch.testing.assert_close(back(TOKENS).logits, expected, rtol=0, atol=2e-5)
    cut.merge(model)
    torch.testing.assert_close(model(TOKENS), expected, rtol=0, atol=2e-5)
    cut.unmerge(model)
    cut.remove_adapter(model, "default")
    assert torch.equal(model(TOKENS), before), "the base itself is not touched"


@pytest.mark.parametrize(
    "more",
    [{"use_rslora": True}, {"use_dora": True}, {"rank_pattern": {"1.*": 2}, "alpha_pattern": {".*0.*": 4}}],
    ids=["rooted", "dora", "ranks"],
)
def test_other_scales_ranks_and_lengths(more, tmp_path):
    expected = tuned("llama", tmp_path, "pissa", **more)
    model = cut.from_pretrained(tmp_path / "base")
    cut.load_adapter(model, tmp_path / "adapter")
    torch.testing.assert_close(model(TOKENS), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (True, {}),
        (True, {"use_rslora": True}),
        (True, {"use_dora": True}),
        ("pissa", {}),
        ("olora", {}),
        ("gaussian", {}),
    ],
)
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_ranks_above_those_of_the_matrices(kind, start, more, tmp_path):
    """peft takes any rank: 30 beside a matrix of 24 → 24, or a classifier of 24 → 2."""
    start_rank = 17 if start in ("pissa", "olora") else 30  # of these, peft's own factors have no more columns than W
    expected = tuned(kind, tmp_path, start, rank_pattern={".*": start_rank}, **more)
    model = cut.from_pretrained(tmp_path / "base")
    cut.load_adapter(model, tmp_path / "adapter")
    torch.testing.assert_close(model(TOKENS), expected, rtol=0, atol=2e-5)
    cut.save_adapter(model, tmp_path / "again")
    again = cut.from_pretrained(tmp_path / "base")
    cut.load_adapter(again, tmp_path / "again")
    torch.testing.assert_close(again(TOKENS), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("start", "targets"), [("pissa", ["c_attn", "c_fc"]), ("olora", ["attn.c_proj"])])
def test_matrices_that_are_stored_turned(start, targets, tmp_path):
    expected = tuned("gpt2", tmp_path, start, targets=targets)
    model = cut.from_pretrained(tmp_path / "base")
    cut.load_adapter(model, tmp_path / "adapter")
    torch.testing.assert_close(model(TOKENS), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("start", ["pissa_niter_16", "corda", "loftq", "lora_ga", "newer", 7, ["pissa"]])
def test_beginnings_that_do_not_follow_from_the_base_are_refused(start, tmp_path):
    tuned("llama", tmp_path, True)
    config = json.loads((tmp_path / "adapter" / CONFIG).read_text())
    (tmp_path / "adapter" / CONFIG).write_text(json.dumps(config | {"init_lora_weights": start}))
    model = cut.from_pretrained(tmp_path / "base")
    with pytest.raises(
        ValueError, match=r"init_lora_weights must be one whose base follows .* got .*plain LoRA"
    ) as told:
        cut.load_adapter(model, tmp_path / "adapter")
    assert repr(start) in str(told.value)


def test_by_hand_and_where_singular_values_are_equal():
    w = torch.diag(torch.tensor([5.0, 3.0, 1.0]))[:, :2]
    a, b = taken_off("pissa", w, 1, 2.0, False, "layer")
    torch.testing.assert_close(2 * a @ b, torch.diag(torch.tensor([5.0, 0.0, 0.0]))[:, :2].double())
    with pytest.raises(
        ValueError, match=r"PiSSA takes the 1 largest .* got layer, where numbers 1 and 2 are equal \(1\)"
    ):
        taken_off("pissa", torch.eye(3), 1, 1.0, False, "layer")
    a, b = taken_off("pissa", torch.eye(3), 3, 1.0, False, "layer")
    torch.testing.assert_close(a @ b, torch.eye(3).double())
    for turned in (False, True):
        w = torch.randn(5, 5)
        a, b = taken_off("olora", w, 5, 2.0, turned, "layer")
        torch.testing.assert_close(a @ b, w.double())
    assert expect_known_start({}) == ""
