"""Writing text greedily: one prompt, eight prompts, and guesses, against transformers and the bare products.

    python benchmarks/decoding.py [threads]         prints the rows for benchmarks/README.md

The bare products are the matrix–vector products of one token (float32, every matrix once, as it is stored) and nothing
else: no decoder that reads its weights can be faster. All take turns of a few tokens; times are the lower quartile of
the times between two tokens, so that a busy moment hurts none of them. Guesses: the sizes of the passes come from texts
that real weights write (stories260K), the time of a pass of each size from GPT-2-small's shape.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from timing import show
from torch import Tensor

import cutaway as cut
from cutaway.models import GPT, generate, stream

TURNS, TOKENS = 12, 10
SPECULATE = 8
WEIGHTS = Path(os.environ.get("CUTAWAY_DATA", "../shared/data")) / "weights/stories260K"
Times = dict[str, float]


def gpt2() -> tuple[GPT, Any]:
    """GPT-2 small: 12 layers, width 768, 12 heads, 50,257 tokens, tied."""
    ours = GPT(vocabulary=50257, width=768, depth=12, heads=12, context=1024)
    return ours.eval(), transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()


def smollm() -> tuple[GPT, Any]:
    """SmolLM2-135M: 30 layers, width 576, 9 heads, 3 key–value heads, MLP 1536, 49,152 tokens, tied."""
    sizes = dict(vocabulary=49152, width=576, depth=30, heads=9, kv_heads=3, hidden=1536, context=2048)
    ours = GPT.llama(**sizes, tied=True)
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        intermediate_size=1536,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    return ours.eval(), transformers.LlamaForCausalLM(config).eval()


class Clock:
    """A streamer for transformers.generate that notes when each token came."""

    def __init__(self) -> None:
        self.ticks: list[float] = []

    def put(self, _: Tensor) -> None:
        self.ticks.append(time.perf_counter())

    def end(self) -> None:
        pass


def between(ticks: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(ticks)]


def ours(model: GPT, prompt: Tensor) -> list[float]:
    """Seconds between two tokens; reading the prompt is no part of it."""
    return between([time.perf_counter() for _ in stream(model, prompt, TOKENS, temperature=0)])


def theirs(model: Any, prompt: Tensor) -> list[float]:
    clock = Clock()
    length = dict(max_new_tokens=TOKENS, min_new_tokens=TOKENS)
    model.generate(prompt, do_sample=False, pad_token_id=0, streamer=clock, **length)
    return between(clock.ticks[1:])  # the first tick is the prompt


def products(model: GPT) -> Callable[[], list[float]]:
    """Every matrix of the model times a vector: (inputs, outputs) as weights are stored, E as a tied head reads it."""
    matrices = [
        parameter.detach() if name == "embed.weight" else parameter.detach().T
        for name, parameter in model.named_parameters()
        if parameter.ndim == 2 and name != "position.weight"
    ]
    vectors = {matrix.shape[1]: torch.randn(matrix.shape[1]) for matrix in matrices}

    def run() -> Iterator[float]:
        for _ in range(TOKENS):
            yield time.perf_counter()
            for matrix in matrices:
                torch.mv(matrix, vectors[matrix.shape[1]])
        yield time.perf_counter()

    return lambda: between(list(run()))


def take_turns(works: dict[str, Callable[[], list[float]]]) -> Times:
    """The lower quartile of each work's times, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(TURNS + 1):
        for name, work in works.items():
            new = work()
            times[name] += new if turn else []  # the first turn is a warm-up
    return {name: sorted(values)[len(values) // 4] for name, values in times.items()}


def one_and_eight(name: str, shape: Callable[[], tuple[GPT, Any]]) -> None:
    model, peer = shape()
    one, eight = torch.randint(40000, (1, 8)), torch.randint(40000, (8, 8))
    works = {
        "ours": lambda: ours(model, one),
        "transformers": lambda: theirs(peer, one),
        "bare": products(model),
        "eight": lambda: ours(model, eight),
    }
    with torch.no_grad():
        times = take_turns(works)
    show(
        f"Decoding, {name}; transformers {transformers.__version__}",
        [
            ("ours / bare products (asked ≤ 1.3, aim 1.2)", f"{times['ours'] / times['bare']:.2f}"),
            ("transformers.generate / ours (asked ≥ 1)", f"{times['transformers'] / times['ours']:.2f}"),
            ("eight prompts / one, tokens a second (asked ≥ 3.5)", f"{8 * times['ours'] / times['eight']:.2f}"),
            *((f"{key}, ms a token", f"{1000 * times[key] / (8 if key == 'eight' else 1):.1f}") for key in works),
        ],
    )


def copied(prompt: list[int], new: list[int], length: int = 8) -> float:
    """The share of new tokens that end a stretch of eight which stood in the text before."""
    text, known, count = prompt + new, set(), 0
    for end in range(length, len(text) + 1):
        stretch = tuple(text[end - length : end])
        count += end > len(prompt) and stretch in known
        known.add(stretch)
    return count / len(new)


def pass_sizes(model: Any, prompt: list[int], tokens: int) -> list[int]:
    """How many tokens each pass took in while a text was written with guesses, after the prompt."""
    sizes: list[int] = []
    run = model.hidden
    model.hidden = lambda tokens, *rest, **more: (sizes.append(tokens.shape[1]), run(tokens, *rest, **more))[1]
    try:
        generate(model, prompt, tokens, temperature=0, speculate=SPECULATE)
    finally:
        del model.hidden
    return sizes[1:]


def written_by_real_weights(count: int = 48, tokens: int = 300) -> dict[str, list[list[int]]]:
    """The passes of texts that copy (half of the tokens or more) and of prose (less than a tenth)."""
    model = cut.from_pretrained(WEIGHTS).eval()
    found: dict[str, list[list[int]]] = {"copy": [], "prose": []}
    for seed in range(count):
        (prompt,) = generate(model, [1], 60, temperature=1.2, seed=100 + seed)
        (text,) = generate(model, prompt, tokens, temperature=0)
        share = copied(prompt, text[len(prompt) :])
        if share >= 0.5 or share < 0.1:
            found["copy" if share >= 0.5 else "prose"].append(pass_sizes(model, prompt, tokens))
    return found


def guesses() -> None:
    if not WEIGHTS.is_dir():
        print(f"\nskipped: guesses need {WEIGHTS}; set CUTAWAY_DATA")
        return
    texts = written_by_real_weights()
    model, _ = gpt2()

    def passes(size: int) -> list[float]:
        cache = model.new_cache(1, 128)
        model.hidden(torch.randint(40000, (1, 64)), cache=cache)
        ticks = [time.perf_counter()]
        for _ in range(3):
            model.read_out(model.hidden(torch.randint(40000, (1, size)), cache=cache))
            ticks.append(time.perf_counter())
        return between(ticks)

    with torch.no_grad():
        times = take_turns({str(size): lambda size=size: passes(size) for size in range(1, SPECULATE + 2)})
    rows = [(f"pass of {size} tokens / of one", f"{times[size] / times['1']:.2f}") for size in ("2", "5", "9")]
    for kind, asked in (("copy", 1.9), ("prose", 0.95)):
        tokens = 299 * len(texts[kind])
        spent = sum(times[str(size)] for sizes in texts[kind] for size in sizes)
        speed = tokens * times["1"] / spent
        rows.append((f"with / without guesses, {len(texts[kind])} texts of {kind} (asked ≥ {asked})", f"{speed:.2f}"))
    show(f"speculate={SPECULATE}: texts of stories260K, passes of GPT-2-small's shape", rows)


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(0)
    one_and_eight("GPT-2 small", gpt2)
    one_and_eight("SmolLM2-135M's shape", smollm)
    guesses()


if __name__ == "__main__":
    main()
