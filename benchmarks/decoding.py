"""Greedy decoding of 128 tokens at GPT-2-small size, random weights, against transformers. Aim: twice as fast."""

import torch
import transformers
from timing import compare, show

from cutaway.models import GPT, generate


def main() -> None:
    torch.manual_seed(0)
    sizes = dict(vocabulary=50257, width=768, depth=12, heads=12, context=1024)
    ours = GPT(**sizes).eval()
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    prompt = torch.randint(50257, (1, 8))
    times = compare(
        {
            "cutaway": lambda: generate(ours, prompt, 128, temperature=0),
            "transformers": lambda: theirs.generate(
                prompt, max_new_tokens=128, min_new_tokens=128, do_sample=False, pad_token_id=0
            ),
        },
        repeats=3,
    )
    show(
        f"Decoding 128 tokens at GPT-2-small size; transformers {transformers.__version__}",
        [
            ("cutaway", f"{128 / times['cutaway']:.1f} tokens/s"),
            ("transformers", f"{128 / times['transformers']:.1f} tokens/s"),
            ("speed-up (aim ≥ 2)", f"{times['transformers'] / times['cutaway']:.2f}"),
        ],
    )


if __name__ == "__main__":
    main()
