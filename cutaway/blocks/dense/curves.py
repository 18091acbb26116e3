r"""Draws functions of one variable, y = f(x), as a small SVG that stands alone: nothing to load, its own background.

Colours are the blue and vermilion of Okabe, Ito 2008, which the colour-blind tell apart; in grey the dashes do.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape

Piece = tuple[Sequence[float], Sequence[float]]  # xs and ys of an unbroken stretch of a line

WIDTH, HEIGHT = 480, 360
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 88, 44
STROKES = [("#0072B2", ""), ("#D55E00", ' stroke-dasharray="7 4"')]


def round_steps(low: float, high: float, about: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten that lie from ``low`` to ``high``.

    >>> round_steps(-1.1, 4.2)
    [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]  # + 0.0: no negative zero


def curves_svg(title: str, lines: Mapping[str, Sequence[Piece]]) -> str:
    """One or two lines over a common x axis, with a legend of their labels. Points that are not finite are left out."""
    assert 1 <= len(lines) <= len(STROKES)
    xs = [x for pieces in lines.values() for piece in pieces for x in piece[0]]
    ys = [y for pieces in lines.values() for piece in pieces for y in piece[1] if math.isfinite(y)] or [0.0]
    left, right = min(xs), max(xs)
    margin = 0.06 * (max(ys) - min(ys)) or 1.0
    bottom, top = min(ys) - margin, max(ys) + margin

    def across(x: float) -> float:
        return LEFT + (x - left) / (right - left) * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        return HEIGHT - BOTTOM - (y - bottom) / (top - bottom) * (HEIGHT - BOTTOM - TOP)

    def path(pieces: Sequence[Piece]) -> str:
        steps = []
        for piece in pieces:
            verb = "M"
            for x, y in zip(*piece):
                if math.isfinite(y):
                    steps.append(f"{verb}{across(x):.2f} {down(y):.2f}")
                    verb = "L"
                else:
                    verb = "M"
        return " ".join(steps)

    title = escape(title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" font-family="system-ui, Segoe UI, DejaVu Sans, sans-serif" font-size="12" fill="#222222">',
        f"<title>{title}: {escape('; '.join(lines))}</title>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" fill="#ffffff" stroke="#cccccc"/>',
        f'<text x="{LEFT}" y="28" font-size="17" font-weight="bold">{title}</text>',
    ]
    for x in round_steps(left, right, 8):
        line = f'<path d="M{across(x):.2f} {TOP} V{HEIGHT - BOTTOM}" stroke="{"#888888" if x == 0 else "#e4e4e4"}"/>'
        tick = f'<text x="{across(x):.2f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_number(x)}</text>'
        parts += [line, tick]
    for y in round_steps(bottom, top):
        line = f'<path d="M{LEFT} {down(y):.2f} H{WIDTH - RIGHT}" stroke="{"#888888" if y == 0 else "#e4e4e4"}"/>'
        tick = f'<text x="{LEFT - 8}" y="{down(y) + 4:.2f}" text-anchor="end">{_number(y)}</text>'
        parts += [line, tick]
    parts.append(f'<text x="{across((left + right) / 2):.2f}" y="{HEIGHT - 10}" text-anchor="middle">x</text>')
    for row, ((label, pieces), (colour, dash)) in enumerate(zip(lines.items(), STROKES)):
        stroke = f'fill="none" stroke="{colour}" stroke-width="2.5" stroke-linejoin="round"{dash}'
        y = 49 + 20 * row
        parts += [
            f'<path class="line" d="{path(pieces)}" {stroke}/>',
            f'<path d="M{LEFT} {y} h30" {stroke}/>',
            f'<text x="{LEFT + 38}" y="{y + 4}">{escape(label)}</text>',
        ]
    return "\n".join([*parts, "</svg>"])


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")
