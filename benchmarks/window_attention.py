"""Window attention against dense causal attention, forward and backward; and twice the tokens for twice the time."""

from collections.abc import Callable

import torch
from timing import compare, show
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from cutaway.blocks import attend_sparse
from cutaway.blocks.attention_masks.patterns import window

TOKENS, WINDOW, HEADS, WIDTH, THREADS = 8192, 256, 8, 64, 2


def step(attention: Callable[[Tensor, Tensor, Tensor], Tensor], tokens: int) -> Callable[[], object]:
    """One forward and backward pass over fixed random inputs."""
    q, k, v = (torch.randn(1, HEADS, tokens, WIDTH, requires_grad=True) for _ in range(3))
    dy = torch.randn(1, HEADS, tokens, WIDTH)
    return lambda: torch.autograd.grad(attention(q, k, v), (q, k, v), dy)


def main() -> None:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    dense = lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True)
    sparse = lambda q, k, v: attend_sparse(q, k, v, window(WINDOW))
    times = compare(
        {"dense": step(dense, TOKENS), "window": step(sparse, TOKENS), "half": step(sparse, TOKENS // 2)}, repeats=7
    )
    show(
        f"Window {WINDOW} against dense causal attention, {HEADS} heads of {WIDTH}, forward and backward, medians of 7",
        [
            (f"dense causal SDPA, {TOKENS} tokens", f"{1e3 * times['dense']:.0f} ms"),
            (f"window {WINDOW}, {TOKENS} tokens", f"{1e3 * times['window']:.0f} ms"),
            (f"window {WINDOW}, {TOKENS // 2} tokens", f"{1e3 * times['half']:.0f} ms"),
            ("dense / window (asked ≥ 5, aim 8)", f"{times['dense'] / times['window']:.2f}"),
            (f"window, {TOKENS} / {TOKENS // 2} tokens (asked ≤ 2.2)", f"{times['window'] / times['half']:.2f}"),
        ],
    )
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
