r"""Objects that hold a tensor and can be used in its place: in torch functions, arithmetic, indexing, as an array."""

import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor

from cutaway.overriding import override


class TensorLike:
    """An object whose `content` answers for it wherever a tensor is expected; == still compares the objects."""

    __slots__ = ()

    def content(self) -> Tensor:
        raise AssertionError("a tensor-like must say what its content is")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*contents(args), **contents(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        """What every tensor has, of the content: ``value.mean()``, ``value.device``."""
        if name.startswith("_") or not hasattr(Tensor, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.content(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.content().detach().cpu().numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:  # for torch.as_tensor
        return self.content().detach().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.content().__dlpack_device__()

    def __getitem__(self, index: Any) -> Tensor:
        return self.content()[contents(index)]

    def __len__(self) -> int:
        return len(self.content())

    def __float__(self) -> float:
        return float(self.content().detach())

    def __int__(self) -> int:
        return int(self.content().detach())

    @override
    def __format__(self, form: str) -> str:
        return format(self.content().detach() if form else repr(self), form)

    def __bool__(self) -> bool:
        return True  # it is there, whatever it holds


def contents(given: Any) -> Any:
    """Arguments with every tensor-like replaced by its content; the very same object where there is none."""
    if isinstance(given, TensorLike):
        return given.content()
    if not isinstance(given, (list, tuple, dict)):
        return given
    olds = list(given.values()) if isinstance(given, dict) else list(given)
    news = [contents(part) for part in olds]
    if all(new is old for new, old in zip(news, olds)):
        return given
    if isinstance(given, dict):
        return dict(zip(given, news))
    return type(given)(*news) if hasattr(given, "_fields") else type(given)(news)


def _arithmetic(name: str) -> None:
    compute: Callable[..., Any] = getattr(operator, name)
    setattr(TensorLike, f"__{name}__", lambda self, *others: compute(self.content(), *contents(others)))
    if name not in ("neg", "abs", "lt", "le", "gt", "ge"):
        setattr(TensorLike, f"__r{name}__", lambda self, other: compute(contents(other), self.content()))


for _name in ("add", "sub", "mul", "truediv", "matmul", "pow", "neg", "abs", "lt", "le", "gt", "ge"):
    _arithmetic(_name)


__all__ = ["TensorLike", "contents"]
