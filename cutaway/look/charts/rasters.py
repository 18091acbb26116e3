r"""Draws matrices with too many cells for a chart as small images.

    pixel = colour((value − low) / (high − low)),   one value a pixel, or the largest of a block of them

The image is a PNG with a palette: one byte a pixel before compression, written without an imaging library.
"""

import base64
import struct
import zlib

import numpy as np

from cutaway.look.style.colours import MAGNITUDE, table

_LEVELS = 255  # of colour: bytes 1 to 255; byte 0 is for what is no number: transparent


def png_bytes(levels: np.ndarray, colours: tuple[str, ...] = MAGNITUDE) -> bytes:
    """The PNG file of a matrix of levels: 1 to 255 along the colours, 0 for nothing."""
    height, width = levels.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each line begins with its filter: 0, none
    lines[:, 1:] = levels
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits a pixel, colours from the palette
    palette = np.vstack([[[0, 0, 0]], table(colours, _LEVELS)]).astype(np.uint8)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette.tobytes()),
        (b"tRNS", b"\0"),  # the first of the palette cannot be seen
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    packed = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def levels_of(matrix: np.ndarray, low: float, high: float, root: bool = False) -> np.ndarray:
    """Values as levels of colour from ``low`` to ``high``; with ``root``, by the square root of their share."""
    share = np.clip((matrix.astype(np.float64) - low) / ((high - low) or 1.0), 0, 1)
    share = np.sqrt(share) if root else share
    finite = np.isfinite(matrix)
    return np.where(finite, np.floor(np.where(finite, share, 0) * (_LEVELS - 1) + 1.5), 0).astype(np.uint8)


def image_url(levels: np.ndarray, colours: tuple[str, ...] = MAGNITUDE) -> str:
    """The image as an address that holds it, for charts and pages."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(levels, colours)).decode()


def strongest(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The value of largest magnitude in each block of rows × columns: thin lines stay visible, unlike in means.

    >>> strongest(np.array([[1, -5, 2], [0, 3, 0]]), 2, 2).tolist()
    [[-5.0, 2.0]]
    """
    if rows == columns == 1:
        return matrix
    tall, wide = (-(-n // block) for n, block in zip(matrix.shape, (rows, columns)))
    padded = np.full((tall * rows, wide * columns), np.nan, dtype=np.result_type(matrix, np.float32))
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = padded.reshape(tall, rows, wide, columns).swapaxes(1, 2).reshape(tall, wide, rows * columns)
    magnitude = np.where(np.isnan(blocks), -1, np.abs(blocks))
    return np.take_along_axis(blocks, magnitude.argmax(-1)[..., None], axis=-1)[..., 0]
