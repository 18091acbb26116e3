r"""Reads and writes tensors in safetensors files that carry their own checksum.

    8 bytes: n | n bytes: header, JSON | tensors         header["__metadata__"]["crc32"] = crc32(file with zeros there)

A file and a list of checksums beside it cannot be replaced in one step, so a file that stands alone carries its own.
Other programs read it as they read any safetensors file.
"""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from cutaway.atomic_files import parse_json, writing
from cutaway.checksums import crc32_of_stream

_ZEROS = "00000000"
_DTYPES = {  # the names of the format
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.complex64: "C64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors on the CPU, each with memory of its own: tied ones share theirs, which safetensors refuses."""
    seen: set[int] = set()
    apart = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        place = tensor.untyped_storage().data_ptr()
        apart[name] = tensor.clone() if place in seen else tensor
        seen.add(place)
    return apart


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str] | None = None) -> str:
    """Writes a whole file of tensors that carries its checksum, which is returned; ``metadata`` are further texts."""
    with writing(path, parents=False) as file:
        beginning = _header_of(tensors, dict(sorted((metadata or {}).items())) | {"crc32": _ZEROS})
        file.write(beginning)
        checksum = f"{write_in_turn(file, tensors, zlib.crc32(beginning)):08x}"
        file.seek(_place_of(_ZEROS, beginning))
        file.write(checksum.encode())
    return checksum


def write_plain(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes a file of tensors without a checksum: of a folder that has a list of them."""
    with open(path, "wb") as file:
        file.write(_header_of(tensors, {}))
        write_in_turn(file, tensors)


def write_in_turn(file: BinaryIO, tensors: dict[str, Tensor], checksum: int = 0) -> int:
    """Writes the tensors one after another and returns the checksum of all; the library would copy them all at once."""
    for name in _in_order(tensors):
        content: Any = tensors[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()
        checksum = zlib.crc32(content, checksum)
        file.write(content)
    return checksum


def _in_order(tensors: Mapping[str, Tensor]) -> list[str]:
    """Names in the order of a file: the widest numbers first, so that each begins at a multiple of its size."""
    return sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))


def _header_of(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The beginning of a safetensors file. Equal weights are equal files: the library writes metadata in no order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt", **metadata}}
    first = 0
    for name in _in_order(tensors):
        x = tensors[name]
        last = first + x.numel() * x.dtype.itemsize
        header[name] = {"dtype": _DTYPES[x.dtype], "shape": list(x.shape), "data_offsets": [first, last]}
        first = last
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text


def _place_of(checksum: str, beginning: bytes) -> int:
    """Where a checksum stands in the beginning of a file; -1 if it does not."""
    key = b'"crc32":"'
    place = beginning.find(key + checksum.encode() + b'"')
    return place + len(key) if place >= 0 else -1


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, which must be as it was written."""
    expect_sound(path)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise _damaged(path, str(error)) from None


def expect_sound(path: Path) -> None:
    """A file of tensors must be as it was written."""
    try:
        damage = find_weights_damage(path)
    except OSError as error:
        raise _damaged(path, str(error)) from None
    if damage:
        raise _damaged(path, damage)


def _damaged(path: Path, damage: str) -> ValueError:
    return ValueError(
        f"weights must be a whole safetensors file, got {path}, which was damaged after it was written ({damage}); "
        "take it from a copy, or --resume the run: its last checkpoint has them"
    )


def find_misfit(tensors: dict[str, Tensor], own: dict[str, Tensor]) -> str:
    """The first tensor whose name or shape is not that of the model's ``own``; empty if all are."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in own.items()}
    for name in wanted | shapes:
        if shapes.get(name) != wanted.get(name):
            return f"{name} of shape {shapes.get(name, 'none')} where the model has {wanted.get(name, 'none')}"
    return ""


def is_whole(path: Path) -> bool:
    """Whether a file is there and as long as its header says; its content is not read."""
    try:
        return not _find_cut(path)
    except OSError:
        return False


def find_weights_damage(path: Path) -> str:
    """What is wrong with a file of tensors; empty if nothing: one without a checksum is judged by length."""
    if cut := _find_cut(path):
        return cut
    with open(path, "rb") as file:
        beginning, checksum = _beginning_of(file)
        place = _place_of(checksum, beginning)
        if place < 0:  # written before files had one, or by another program
            return ""
        zeroed = beginning[:place] + _ZEROS.encode() + beginning[place + len(_ZEROS) :]
        return "" if crc32_of_stream(file, zlib.crc32(zeroed)) == checksum else "its checksum is another"


def checksum_of(path: Path) -> str:
    """The checksum that a file of tensors carries; empty if it has none."""
    with open(path, "rb") as file:
        return _beginning_of(file)[1]


def _beginning_of(file: BinaryIO) -> tuple[bytes, str]:
    beginning = file.read(8)
    beginning += file.read(int.from_bytes(beginning, "little"))
    return beginning, parse_json(beginning[8:]).get("__metadata__", {}).get("crc32", "")


def _find_cut(path: Path) -> str:
    if not path.is_file():
        return "it is no regular file" if path.exists() else "it is missing"
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(min(length, size))
    try:
        tensors = {name: value for name, value in parse_json(header).items() if name != "__metadata__"}
        end = 8 + length + max((value["data_offsets"][1] for value in tensors.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return "its header does not read"
    return "" if size == end else f"it has {size:,} bytes where {end:,} were written"
