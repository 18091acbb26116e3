r"""An image as an address that holds it, its pixels enlarged by whole numbers: they stay crisp squares.

    address = "data:image/png;base64," + PNG(x repeated k times in both directions)

The PNG is grey or of true colours, written without an imaging library.
"""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from jaxtyping import UInt8


def as_bytes(image: Any) -> UInt8[np.ndarray, "h w k"]:
    """An image (c, h, w) or (h, w) of 1 or 3 channels, in 0–1 or in bytes, as bytes with the channels last."""
    x = image.detach().cpu().numpy() if hasattr(image, "detach") else np.asarray(image)
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or x.shape[0] not in (1, 3):
        raise ValueError(
            f"an image must have shape (height, width) or (1 or 3 channels, height, width), got {x.shape}; "
            "pick one image, or its channels"
        )
    if x.dtype != np.uint8:
        x = np.rint(np.nan_to_num(np.clip(x.astype(np.float64), 0, 1)) * 255).astype(np.uint8)
    return np.ascontiguousarray(x.transpose(1, 2, 0))


def pixel_url(image: Any, side: int = 112) -> str:
    """The address of an image whose longer side has about ``side`` pixels when shown."""
    x = as_bytes(image)
    times = max(1, round(side / max(x.shape[:2])))
    x = x.repeat(times, 0).repeat(times, 1)
    return "data:image/png;base64," + base64.b64encode(png_of(x)).decode()


def png_of(x: UInt8[np.ndarray, "h w k"]) -> bytes:
    """The PNG file of bytes: grey for one channel, true colours for three."""
    height, width, channels = x.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter: 0, none
    lines[:, 1:] = x.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


__all__ = ["as_bytes", "pixel_url", "png_of"]
