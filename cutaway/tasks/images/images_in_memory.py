r"""Images in memory as the data of a recipe: the run keeps a copy, so that it can read them again.

cut.train("cnn", data=(images, labels))        # arrays or tensors; or images alone, a dict of arrays, a torch data set
"""

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.data.images.image_sources import ImageSource

STORED = "data.npz"  # the copy in the run folder


class ImagesInMemory(str):
    """What the setting ``data`` becomes if it is given images: text, as config.json needs it, that holds them."""

    content: bytes  # of the copy

    @classmethod
    def of(cls, data: Any) -> "ImagesInMemory":
        """The setting for an array, a tensor, (images, labels), a dict of arrays or a torch data set."""
        import numpy as np

        from cutaway.data.images.image_arrays import from_memory

        found = from_memory(data)
        file = io.BytesIO()
        arrays = {}
        for part in dict.fromkeys(found.parts):
            here = np.array([one == part for one in found.parts])
            prefix = f"{part}_" if part else ""
            arrays[f"{prefix}images"] = found.pixels[here]
            labels = [label for label, one in zip(found.labels, here, strict=True) if one]
            if any(label is not None for label in labels):
                arrays[f"{prefix}labels"] = np.array([label or "" for label in labels], dtype=np.str_)
        np.savez(file, allow_pickle=False, **arrays)
        held = cls("images in memory")
        held.content = file.getvalue()
        return held

    def source(self) -> "ImageSource":
        """The images as the copy holds them, so that a run that reads the copy sees the same."""
        from cutaway.data.images.image_sources import held_arrays

        return held_arrays(self.content, str(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)


__all__ = ["STORED", "ImagesInMemory"]
