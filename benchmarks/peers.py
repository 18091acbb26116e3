"""Reading all attention weights and recording every operation, here and with those peers that are installed.

All run the same weights, and the attention that they read is compared before it is timed. TransformerLens is not among
our dependencies: `pip install transformer-lens` (4.0 or newer) to include it. TorchLens' own figure for GPT-2 small is
14.8 forward passes (its docs/performance.md, 2026-06-16). The peers in words: docs/comparison.md.
"""

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
import transformers
from timing import compare, show
from torch import Tensor

import cutaway as cut

SMALL = dict(vocab_size=65, n_positions=64, n_embd=128, n_layer=4, n_head=4)
GPT2_SMALL: dict[str, int] = {}  # the defaults of transformers
TOKENS = 256


def gpt2(sizes: dict[str, int], attention: str) -> transformers.GPT2LMHeadModel:
    """transformers' GPT-2 with random weights, which every tool here can look into."""
    config = transformers.GPT2Config(
        **sizes, bos_token_id=0, eos_token_id=0, use_cache=False, attn_implementation=attention
    )
    return transformers.GPT2LMHeadModel(config).eval()


def installed(name: str) -> str | None:
    """The version of a package, or None and a line that says so."""
    try:
        return version(name)
    except PackageNotFoundError:
        print(f"\nskipped: {name} is not installed here")
        return None


def reader_of_transformer_lens(model: transformers.GPT2LMHeadModel) -> Callable[[Tensor], list[Tensor]] | None:
    """`run_with_cache`, told to keep the attention weights alone. Its bridge rebuilds the model, so it gets a copy."""
    try:
        from transformer_lens.model_bridge.sources import build_bridge_from_module
    except ImportError as problem:
        print(f"\nskipped: this transformer-lens cannot be used ({problem})")
        return None
    bridge = build_bridge_from_module(copy.deepcopy(model), "GPT2LMHeadModel", hf_config=model.config)
    wanted = lambda name: name.endswith("attn.hook_pattern")
    return lambda tokens: list(bridge.run_with_cache(tokens, names_filter=wanted)[1].values())


@torch.no_grad()
def attention() -> None:
    theirs = gpt2(GPT2_SMALL, "eager")
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = cut.from_pretrained(folder).eval()
    tokens = torch.randint(theirs.config.vocab_size, (1, TOKENS))

    def here(tokens: Tensor) -> list[Tensor]:
        with cut.trace(ours, "blocks.*.attention.weights") as seen:
            ours(tokens)
        return list(seen.values())

    there = lambda tokens: list(theirs(tokens, output_attentions=True).attentions)
    readers: dict[str, Callable[[Tensor], list[Tensor]]] = {"cutaway": here, "transformers": there}
    versions = f"transformers {transformers.__version__}"
    if (found := installed("transformer-lens")) and (reader := reader_of_transformer_lens(theirs)):
        readers["TransformerLens"] = reader
        versions += f", TransformerLens {found}"
    for read in readers.values():
        torch.testing.assert_close(read(tokens), here(tokens), atol=1e-4, rtol=0)

    works = {name: partial(read, tokens) for name, read in readers.items()}
    times = compare({"plain": lambda: ours(tokens), **works}, repeats=7)
    rows = [(f"{name} / cutaway", f"{times[name] / times['cutaway']:.2f}") for name in readers if name != "cutaway"]
    rows += [("cutaway / its plain forward pass", f"{times['cutaway'] / times['plain']:.2f}")]
    rows += [(name, f"{1000 * times[name]:.0f} ms") for name in readers]
    show(f"Reading all attention weights at GPT-2-small size, {TOKENS} tokens; {versions}", rows)


@contextmanager
def torchlens() -> Iterator[Any]:
    """TorchLens, with torch wrapped as it stays after a first trace, and unwrapped for the benchmarks that follow."""
    import torchlens
    from torchlens.backends.torch.wrappers import unwrap_torch, wrap_torch

    wrap_torch()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as a mask's `.all()` inside transformers, at every pass
            yield torchlens
    finally:
        unwrap_torch()


def operations(title: str, sizes: dict[str, int], tokens: int, repeats: int) -> None:
    model = gpt2(sizes, "sdpa")
    x = torch.randint(model.config.vocab_size, (1, tokens))
    loss = lambda: model(x).logits.square().mean()

    def both() -> None:
        loss().backward()
        model.zero_grad()  # adding up gradients is no part of it: `cut.graph` touches no `.grad`

    # ours first: once torch is wrapped, every pass in the process goes through the wrappers
    works: dict[str, Callable[[], object]] = {
        "plain": lambda: model(x),
        "captured": lambda: cut.graph(model, x),
        "both": both,
        "captured both": lambda: cut.graph(loss).backward(),
    }
    rows = described("cutaway", compare(works, repeats), len(cut.graph(model, x).nodes))
    versions = f"transformers {transformers.__version__}"
    if found := installed("torchlens"):
        versions += f", TorchLens {found}"
        with torchlens() as lens:
            keeping = lens.options.CaptureOptions(save_grads=True)

            def captured_both() -> None:
                log = lens.trace(model, x, capture=keeping)
                log.log_backward(log[log.output_layers[0]].out.square().mean())
                model.zero_grad()

            works |= {"captured": lambda: lens.trace(model, x), "captured both": captured_both}
            rows += described("TorchLens", compare(works, repeats), len(lens.trace(model, x).ops))
    show(f"Recording every operation of {title}, {tokens} tokens; {versions}", rows)


def described(name: str, times: dict[str, float], count: int) -> list[tuple[str, str]]:
    return [
        (f"{name}: forward pass, recorded / plain", f"{times['captured'] / times['plain']:.1f}"),
        (f"{name}: forward and backward, recorded / plain", f"{times['captured both'] / times['both']:.1f}"),
        (f"{name}: operations recorded", f"{count}"),
    ]


def main() -> None:
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    attention()
    operations("a small GPT-2 (4 layers, width 128)", SMALL, 64, repeats=5)
    operations("GPT-2 small", GPT2_SMALL, 64, repeats=3)


if __name__ == "__main__":
    main()
