r"""Random draws that can be repeated: each is a pure function of a seed, a purpose and a number.

    u = Philox(key = (seed, purpose), counter = (·, ·, ·, number))      Salmon et al. 2011

So batch 1000 can be made without the 999 before it, and a resumed run draws what an unbroken one would have drawn.
Only the raw bits of NumPy's generator are used: NumPy promises never to change those, but not its distributions.
"""

import numpy as np
from jaxtyping import Float, Int, UInt64


def draw_bits(seed: int, purpose: str, number: int, count: int) -> UInt64[np.ndarray, "count"]:
    """``count`` random 64-bit words. A purpose of up to eight letters keeps the streams of one seed apart."""
    label = purpose.encode()
    assert len(label) <= 8, purpose
    key = np.array([seed & 0xFFFF_FFFF_FFFF_FFFF, int.from_bytes(label, "little")], dtype=np.uint64)
    counter = np.array([0, 0, 0, number], dtype=np.uint64)
    return np.random.Philox(key=key, counter=counter).random_raw(count)


def draw_uniform(seed: int, purpose: str, number: int, count: int) -> Float[np.ndarray, "count"]:
    """``count`` numbers from [0, 1), the multiples of 2⁻⁵³."""
    return (draw_bits(seed, purpose, number, count) >> np.uint64(11)) * 2.0**-53


def draw_integers(seed: int, purpose: str, number: int, count: int, below: int) -> Int[np.ndarray, "count"]:
    """``count`` whole numbers from 0 to ``below`` − 1."""
    return (draw_uniform(seed, purpose, number, count) * below).astype(np.int64)


def draw_permutation(seed: int, purpose: str, number: int, count: int) -> Int[np.ndarray, "count"]:
    """0 … ``count`` − 1 in random order."""
    return np.argsort(draw_bits(seed, purpose, number, count), kind="stable")


__all__ = ["draw_bits", "draw_integers", "draw_permutation", "draw_uniform"]
