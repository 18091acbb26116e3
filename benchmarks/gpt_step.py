"""A GPT training step against transformers' GPT-2 of the same shape, eager, same optimizer. Aim: 1.15 times as fast."""

import torch
import transformers
from timing import compare, show

from cutaway.models import GPT

VOCABULARY, CONTEXT, BATCH = 65, 256, 16


def main() -> None:
    torch.manual_seed(0)
    ours = GPT(vocabulary=VOCABULARY, width=256, depth=4, heads=8, context=CONTEXT)
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=CONTEXT,
        n_embd=256,
        n_layer=4,
        n_head=8,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    theirs = transformers.GPT2LMHeadModel(config).train()
    tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT + 1))
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, logits: object) -> None:
        loss = torch.nn.functional.cross_entropy(logits(model).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    make = lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    a, b = make(ours), make(theirs)
    times = compare(
        {
            "cutaway": lambda: step(ours, a, lambda m: m(x)),
            "transformers": lambda: step(theirs, b, lambda m: m(x).logits),
        },
        repeats=9,
    )
    show(
        f"GPT training step: 4 layers, width 256, context 256, batch 16; transformers {transformers.__version__}",
        [
            ("cutaway", f"{times['cutaway'] * 1e3:.0f} ms"),
            ("transformers", f"{times['transformers'] * 1e3:.0f} ms"),
            ("speed-up (aim ≥ 1.15)", f"{times['transformers'] / times['cutaway']:.2f}"),
        ],
    )


if __name__ == "__main__":
    main()
