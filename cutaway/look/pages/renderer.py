r"""Safe use of vl-convert, the renderer of charts: a JavaScript engine and an SVG library in one.

Beyond a limit of its own it panics or ends the whole process, with any training run in it. So its limits are checked
before it is called, and what it refuses becomes a `RendererError` that says what to do.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ADDRESSES = 70 << 30  # bytes of address space: the engine reserves 64 GiB of it, and uses next to nothing
PIXELS = 200_000_000


class RendererError(ValueError):
    """A picture that cannot be drawn here."""


@contextmanager
def renderer(title: str) -> Iterator[Any]:
    """The module vl_convert, to draw the picture of that title with."""
    _expect_addresses()
    import vl_convert

    try:
        yield vl_convert
    except BaseException as error:
        if isinstance(error, RendererError) or not _is_its_own(error):
            raise
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise RendererError(
            f"a picture must be one that vl-convert can draw, got {title!r} ({why[:200]}); "
            "save it as .html, which a browser draws"
        ) from None


def expect_pixels(svg: str, scale: float, title: str) -> None:
    """An image must not have more pixels than memory holds."""
    head = re.search(r"<svg\b[^>]*>", svg)
    sides = [re.search(rf'\s{side}="([\d.eE+]+)', head[0]) for side in ("width", "height")] if head else [None]
    if not all(sides):
        return  # an SVG without a size is drawn at a size of the renderer's own
    width, height = (float(side[1]) * scale for side in sides if side)
    if not width * height <= PIXELS:
        raise RendererError(
            f"an image must have at most {PIXELS:,} pixels, got {width:.6g} × {height:.6g} for {title!r}; "
            "lower its scale, or save it as .svg"
        )


def _expect_addresses() -> None:
    """The engine ends the process if it cannot reserve its address space (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft >= ADDRESSES:
        return
    if hard == resource.RLIM_INFINITY or hard >= ADDRESSES:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        return
    raise RendererError(
        f"the renderer of charts reserves {ADDRESSES >> 30} GiB of address space (not of memory), got a limit of "
        f"{hard / (1 << 30):.3g} GiB; lift it by `ulimit -v unlimited`"
    )


def _is_its_own(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException" or isinstance(error, (RuntimeError, ValueError, TypeError))
