r"""Facts about a torch function, known before it runs: its name, whether it is an operator, what it writes to.

Every access to a tensor passes by a `TorchFunctionMode`: operators, but also `x.shape`, `x.dim()`, `print(x)`.
"""

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

# Attributes that are tensors made from the tensor; all other attributes say something about it.
_MADE = {"T", "mT", "H", "mH", "real", "imag", "data"}
# Python-level methods and functions that compute nothing, or nothing that belongs to the pass.
_SILENT = frozenset(
    """
    backward grad_fn register_hook retain_grad requires_grad_ numpy tolist item is_shared share_memory_
    pin_memory size dim numel nelement stride storage untyped_storage storage_offset data_ptr element_size
    ndimension get_device is_floating_point is_complex is_contiguous is_pinned is_signed is_conj is_neg
    is_inference is_same_size is_tensor is_nonzero equal allclose is_set_to has_names as_subclass _make_subclass
    _make_wrapper_subclass _to_dense_index set_ _set_grad_enabled set_grad_enabled manual_seed seed
    get_default_dtype set_default_dtype compiled_with_cxx11_abi result_type can_cast promote_types
    """.split()  # noqa: SIM905 -- a list would take a screen
)
_OPERATORS = frozenset(
    """
    __add__ __radd__ __sub__ __mul__ __rmul__ __matmul__ __rmatmul__ __pow__ __neg__ __pos__ __abs__ __getitem__
    __setitem__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __xor__ __lshift__ __rshift__ __rfloordiv__ __div__
    """.split()  # noqa: SIM905 -- a list would take a screen
)
_SIGNS = "add sub mul div truediv floordiv mod pow and or xor matmul lshift rshift"
_WRITTEN = frozenset(f"__i{sign}__" for sign in _SIGNS.split())
# Operators may be called by a method, an operator sign or a function: all go by one name.
_SAME = {
    "__and__": "bitwise_and",
    "__floordiv__": "floor_divide",
    "__invert__": "bitwise_not",
    "__mod__": "remainder",
    "__or__": "bitwise_or",
    "__rdiv__": "div",
    "__rpow__": "pow",
    "__rsub__": "sub",
    "__rtruediv__": "div",
    "__truediv__": "div",
    "absolute": "abs",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "multiply": "mul",
    "negative": "neg",
    "rsub": "sub",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
    "_softmax": "softmax",
    "_log_softmax": "log_softmax",
}
_RANDOM = "dropout rrelu gumbel bernoulli normal fractional attention lstm gru rnn_"  # parts of names


class Kind(NamedTuple):
    """What a function is."""

    name: str
    silent: bool = False  # no operator
    writes: bool = False  # to its first argument, to `out`, or to what `written` names
    inplace: int | None = None  # where its argument "inplace" stands
    written: tuple[int, ...] = ()  # arguments that it writes to beside its result
    random: bool = False
    repeats: bool = True  # can be run again


def describe(function: Callable[..., Any]) -> Kind:
    """The facts that follow from the function alone, without its arguments."""
    raw = getattr(function, "__name__", type(function).__name__).split(".")[0]  # torch.ops: "mul.Tensor"
    if raw in ("__get__", "__set__", "__delete__") and isinstance(function, types.MethodWrapperType):
        owner = getattr(function.__self__, "__name__", "")
        if (raw, owner) == ("__set__", "data"):  # p.data = ...
            return Kind("set_data", writes=True)
        return Kind(owner, silent=raw != "__get__" or owner not in _MADE)
    if raw in _SILENT or (raw.startswith("__") and raw not in _SAME and raw not in _OPERATORS | _WRITTEN):
        return Kind(raw, silent=True)
    writes = (raw.endswith("_") and not raw.endswith("__")) or raw == "__setitem__" or raw in _WRITTEN
    return Kind(
        name=_SAME.get(raw, raw.strip("_") + ("_" if raw.endswith("_") and not raw.endswith("__") else "")),
        writes=writes,
        inplace=_inplace(function),
        written=(1, 2) if function is functional.batch_norm else (),
        random=any(word in raw for word in _RANDOM.split()),
        repeats=raw != "grad" or getattr(function, "__module__", "") != "torch.autograd",
    )


def _inplace(function: Callable[..., Any]) -> int | None:
    if not isinstance(function, types.FunctionType):
        return None
    try:
        parameters = list(inspect.signature(function).parameters)
    except ValueError:  # it wraps a builtin
        return None
    return parameters.index("inplace") if "inplace" in parameters else None


def targets(kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that this call is about to write to, as far as one can tell beforehand."""
    found: list[Any] = []
    if kind.writes:
        found.append(args[0] if args else kwargs.get("tensor"))  # functions of torch.nn.init hand it on by name
    if kind.inplace is not None and (
        kwargs.get("inplace") or (len(args) > kind.inplace and args[kind.inplace] is True)
    ):
        found.append(args[0] if args else kwargs.get("input"))
    found += [args[i] for i in kind.written if i < len(args)]
    if kwargs.get("out") is not None:
        found.append(kwargs["out"])
    return list(tensors_in(found))


def tensors_in(parts: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments or results, in order, also inside lists, tuples and dictionaries."""
    for part in parts:
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, (list, tuple)):
            yield from tensors_in(part)
        elif isinstance(part, dict):
            yield from tensors_in(part.values())


def replaced(given: Any, news: Iterator[Any]) -> Any:
    """Arguments with the tensors that `tensors_in` finds replaced, one after the other."""
    if isinstance(given, Tensor):
        return next(news)
    if isinstance(given, (list, tuple)):
        parts = [replaced(part, news) for part in given]
        return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    return {key: replaced(part, news) for key, part in given.items()} if isinstance(given, dict) else given


def random_state(found: Iterable[Tensor]) -> Any:
    """The state of the generators that an operator on these tensors would draw from."""
    devices = {x.device for x in found if x.is_cuda}
    return torch.get_rng_state(), {device: torch.cuda.get_rng_state(device) for device in devices}


__all__ = ["Kind", "describe", "random_state", "replaced", "targets", "tensors_in"]
