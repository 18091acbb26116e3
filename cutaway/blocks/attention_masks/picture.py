r"""The picture of a pattern: M[i, j] as a square, queries downwards, keys to the right, dark where visible.

    shade(cell) = mean of M over the pairs that the cell stands for

Up to 96 tokens a cell is one pair; beyond that it stands for several, and its shade for the share that is visible.
Drawn as in Beltagy et al. 2020, fig. 2, and N3 §5.9.1, fig. 4.
"""

from html import escape

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from cutaway.blocks.attention_masks.algebra import Pattern

SIDE, CELLS, SHOWN = 260, 96, 4  # pixels a side; cells a side and masks shown, at most
INK, PAPER, LINE, TEXT = "#0072b2", "#f4f4f4", "#cccccc", "#222222"


def draw(pattern: Pattern, n: int | None = None) -> str:
    """SVG of a pattern for n tokens: as many as its tensors have, else 32; of several examples, the first four.

    >>> from cutaway.blocks.attention_masks.patterns import causal
    >>> draw(causal(), 8).startswith("<svg")
    True
    """
    if n is None:
        n = max((t.shape[-1] for t in pattern.tensors if t.ndim > 1), default=32)
    masks = pattern.dense(n, n, device="cpu").reshape(-1, n, n)[:SHOWN]
    cells = adaptive_avg_pool2d(masks.float(), min(n, CELLS))
    squares = "".join(
        f'<g transform="translate({28 + (SIDE + 16) * at},46)">{_square(cell)}</g>' for at, cell in enumerate(cells)
    )
    width, height = 28 + (SIDE + 16) * len(cells), SIDE + 78
    title = repr(pattern)
    letters = min(12, 1.7 * (width - 44) / len(title))  # a letter is some 0.6 of its size wide
    visible = f"{masks.float().mean():.1%} of {n} × {n} pairs visible"
    more = "" if pattern.lead in ((), (1, 1)) else f", {len(masks)} of {pattern.lead[0] * pattern.lead[1]} masks shown"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="system-ui, Segoe UI, DejaVu Sans, sans-serif" font-size="11" fill="{TEXT}">'
        f"<title>{escape(title)}: {visible}</title>"
        f'<rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="28" y="20" font-size="{letters:.1f}" font-weight="600">{escape(title)}</text>'
        f'<text x="28" y="38">keys →</text>'
        f'<text transform="translate(18,46) rotate(-90)" text-anchor="end">← queries</text>'
        f"{squares}"
        f'<text x="28" y="{SIDE + 66}">{visible}{more}</text></svg>'
    )


def _square(cells: Float[Tensor, "n n"]) -> str:
    """One mask: each row as runs of cells of one shade."""
    size = SIDE / len(cells)
    parts = [f'<g shape-rendering="crispEdges"><rect width="{SIDE}" height="{SIDE}" fill="{PAPER}"/>']
    for i, row in enumerate(cells):
        shades, lengths = torch.unique_consecutive(row, return_counts=True)
        starts = lengths.cumsum(0) - lengths
        parts += [
            f'<rect x="{start * size:.2f}" y="{i * size:.2f}" width="{length * size:.2f}" height="{size:.2f}" '
            f'fill="{INK}"' + ("/>" if shade == 1 else f' fill-opacity="{shade:.2f}"/>')
            for shade, start, length in zip(shades.tolist(), starts.tolist(), lengths.tolist())
            if shade > 0
        ]
    parts.append("</g>")
    if len(cells) <= 40:  # pairs can be told apart
        lines = "".join(f"M{at * size:.2f} 0V{SIDE}M0 {at * size:.2f}H{SIDE}" for at in range(1, len(cells)))
        parts.append(f'<path d="{lines}" stroke="white" stroke-width="0.75"/>')
    parts.append(f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="{LINE}"/>')
    return "".join(parts)
