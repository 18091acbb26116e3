r"""Libraries that only some parts need: imported where they are used, and missed by name."""

from importlib import import_module
from typing import Any


def need(module: str, extra: str, purpose: str) -> Any:
    """The module, imported; if it is not installed, an error that says what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.split(".")[0]):
            raise  # the module is there, and something that it needs is not
        raise ModuleNotFoundError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed; run pip install 'cutaway[{extra}]'",
            name=error.name,
        ) from None


__all__ = ["need"]
