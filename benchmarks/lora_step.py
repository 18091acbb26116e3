"""A LoRA step beside a full step and beside peft: GPT-2-small's shape, batch 8 × 128, rank 8, all 12 blocks.

Time turn by turn in one process; peak memory each in a process of its own. Aims: queries and values at most 0.70 of our
full step in time and memory, and, with equal targets (the matrix [W_Q W_K W_V] as a whole, which is what peft can name
in GPT-2), not slower than peft + transformers. Loss and gradients of the two are compared first.

python benchmarks/run.py lora_step          # about 3 minutes
"""

import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import peft
import torch
import transformers
from timing import compare, show
from torch import Tensor, nn

import cutaway as cut
from cutaway.models import GPT
from cutaway.training.freed_memory import keep_freed_memory

VOCABULARY, CONTEXT, BATCH, RANK = 50257, 128, 8, 8
PARTS = ["blocks.*.attention.queries", "blocks.*.attention.values"]
KINDS = ("full", "queries and values", "whole matrix", "peft")
warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()


def gpt() -> GPT:
    torch.manual_seed(0)
    return GPT(vocabulary=VOCABULARY, width=768, depth=12, heads=12, context=1024)


def model_of(kind: str) -> nn.Module:
    """The model of a kind of step, with random weights that are the same for all."""
    model = gpt()
    if kind == "full":
        return model
    cut.lora(model, PARTS if kind == "queries and values" else "blocks.*.attention.qkv", rank=RANK)
    if kind != "peft":
        return model
    with tempfile.TemporaryDirectory() as folder:
        cut.save_adapter(model, Path(folder, "adapter"))
        cut.remove_adapter(model)
        cut.save_pretrained(model, Path(folder, "base"))
        del model
        base = transformers.GPT2LMHeadModel.from_pretrained(Path(folder, "base")).train()
        return peft.PeftModel.from_pretrained(base, Path(folder, "adapter"), is_trainable=True)


def peft_alone() -> nn.Module:
    """peft's model without ever holding ours, for its memory."""
    config = transformers.GPT2Config(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    base = transformers.GPT2LMHeadModel(config).train()
    return peft.get_peft_model(base, peft.LoraConfig(r=RANK, target_modules=["c_attn"], fan_in_fan_out=True))


def batch() -> tuple[Tensor, Tensor]:
    tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(1))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()


def loss_of(model: nn.Module) -> Tensor:
    """Ours as our training computes it; the peer's by torch's cross entropy, as transformers does."""
    tokens, targets = batch()
    if isinstance(model, GPT):
        return model(tokens, targets=targets.view_as(tokens)).mean()
    return nn.functional.cross_entropy(model(tokens, use_cache=False).logits.flatten(0, 1), targets)


def step_of(model: nn.Module) -> Callable[[], None]:
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, fused=True)

    def step() -> None:
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def expect_equal(ours: nn.Module, theirs: nn.Module) -> None:
    """The same loss, and the same gradients of A and B."""
    for model in (ours, theirs):
        for name, p in model.named_parameters():
            if name.endswith((".b", "lora_B.default.weight")):  # zero at first: then A would have no gradient
                block = int(name.split("blocks." if name.endswith(".b") else "h.")[1].split(".")[0])
                drawn = torch.randn(RANK, 2304, generator=torch.Generator().manual_seed(block)) / 100
                p.data.copy_(drawn if name.endswith(".b") else drawn.T)
    a, b = loss_of(ours), loss_of(theirs)
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    a.backward()
    b.backward()
    mine = [p.grad.T for p in ours.parameters() if p.requires_grad]
    peers = [p.grad for p in theirs.parameters() if p.requires_grad]
    assert len(mine) == len(peers) == 24
    for g, h in zip(mine, peers, strict=True):
        torch.testing.assert_close(g, h, rtol=1e-3, atol=1e-5 * float(h.abs().max()))
    ours.zero_grad()
    theirs.zero_grad()


def peak_memory(kind: str) -> float:
    """Gigabytes at the highest moment of two steps, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, kind], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    memory = {kind: peak_memory(kind) for kind in KINDS}
    models = {kind: model_of(kind) for kind in KINDS}
    expect_equal(models["whole matrix"], models["peft"])
    with keep_freed_memory():  # as our training does
        times = compare({kind: step_of(model) for kind, model in models.items()}, repeats=7)
    ours, theirs = "queries and values", "peft"
    show(
        f"LoRA step, GPT-2-small, batch {BATCH} × {CONTEXT}, rank {RANK}; peft {peft.__version__}, "
        f"transformers {transformers.__version__}",
        [
            *((kind, f"{times[kind]:.2f} s, {memory[kind]:.2f} GB") for kind in KINDS),
            ("time of the full step (aim ≤ 0.70)", f"{times[ours] / times['full']:.3f}"),
            ("memory of the full step (aim ≤ 0.70)", f"{memory[ours] / memory['full']:.3f}"),
            ("peft's time of ours, equal targets (aim ≥ 1)", f"{times[theirs] / times['whole matrix']:.3f}"),
            (
                "peft's time and memory of our full step",
                f"{times[theirs] / times['full']:.3f}, {memory[theirs] / memory['full']:.3f}",
            ),
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        step = step_of(peft_alone() if sys.argv[1] == "peft" else model_of(sys.argv[1]))
        for _ in range(2):
            step()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    else:
        main()
