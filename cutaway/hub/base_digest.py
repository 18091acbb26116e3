r"""The digest of a base model's weights, by which an adapter knows the model that it was made on.

    digest = BLAKE2(the name, shape, precision and BLAKE2 of every tensor, by name)

Names and layout are those of the checkpoint's family, so a model of ours and transformers' own have the same.
"""

import hashlib
from collections.abc import Collection

import torch
from torch import Tensor

from cutaway.hub.adapter_names import AdapterNames


def base_digest(names: AdapterNames, but: Collection[str] = ()) -> str:
    """The digest of a model's tensors, as its file names them, without adapters and those trained in full (``but``)."""
    tensors = (names.tensors_of(path) for path in names.parameters if not _is_added(path))
    found = {name: _digest(x) for some in tensors for name, x in some.items() if name not in but}
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(found.items()))
    return hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()


def _digest(x: Tensor) -> str:
    about = f"{tuple(x.shape)} {x.dtype} "
    if x.is_meta:
        return about
    whole = x.contiguous().view(-1).view(torch.uint8).numpy()
    return about + hashlib.blake2b(whole.data, digest_size=16).hexdigest()


def _is_added(path: str) -> bool:
    """Whether a parameter is an adapter's own."""
    return ".lora." in path or ".adapters." in path
