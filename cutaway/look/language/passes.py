r"""Runs a model over one text in evaluation mode, and computes the score that attributions and patching explain.

score(x) = logit[answer] − logit[wrong]         at one position; without a wrong answer, the logit itself
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from cutaway.inside.results import tensors

Tokens: TypeAlias = Tensor | Sequence[int]
Decode: TypeAlias = Callable[[list[int]], str]
Answer: TypeAlias = int | Callable[[Tensor], Tensor]


@contextmanager
def at_rest(model: Any) -> Iterator[None]:
    """Puts a model into evaluation mode, and restores each module's own mode afterwards. A plain function has none."""
    modes = {module: module.training for module in model.modules()} if isinstance(model, nn.Module) else {}
    try:
        if modes:
            model.eval()
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def as_tokens(name: str, tokens: Tokens, model: nn.Module) -> Tensor:
    """One text as a batch of one, (1, length), on the model's device."""
    x = torch.as_tensor(tokens)
    if x.is_floating_point() or x.dtype == torch.bool or x.is_complex():
        raise ValueError(f"{name} must be integers, got {x.dtype}; encode the text with the model's tokenizer")
    x = x[None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[0] != 1 or x.shape[1] == 0:
        raise ValueError(
            f"{name} must be those of one text, (length) or (1, length), got shape {tuple(x.shape)}; "
            "look at one text at a time"
        )
    device = next((p.device for p in model.parameters()), None)
    return x.long().to(device)


def run(model: Callable[..., Any], inputs: Tensor) -> Tensor:
    """The output of a model as one tensor: its logits, where it returns several things (as transformers do)."""
    try:
        output = model(inputs)
    except IndexError as error:
        if inputs.is_floating_point():
            raise
        raise ValueError(
            f"tokens must be from 0 to below the model's vocabulary, got {int(inputs.min())} to {int(inputs.max())}; "
            "encode the text with the tokenizer that belongs to the model"
        ) from error
    if isinstance(output, Tensor):
        return output
    found = getattr(output, "logits", None)
    found = next(tensors(output), None) if found is None else found
    if not isinstance(found, Tensor):
        raise ValueError(
            f"a model must give a tensor or something with logits, got {type(output).__name__}; "
            "wrap it in a function that returns the tensor to look at"
        )
    return found


def score(output: Tensor, answer: Answer | None, wrong: int | None = None, position: int = -1) -> Tensor:
    """The score to explain, one number for each example of a batch: (batch).

    From logits (batch, time, vocabulary) at ``position``, or from (batch, classes). Outputs with one number an example
    need no ``answer``. Any other number is a function of the output as ``answer``.

    >>> score(torch.tensor([[1.0, 5.0, 2.0]]), answer=1, wrong=2)
    tensor([3.])
    """
    if callable(answer):
        return _expect_one_each(answer(output), output)
    logits = output[:, _index("position", position, output.shape[1])] if output.ndim == 3 else output
    logits = logits[:, None] if logits.ndim == 1 else logits
    if logits.ndim != 2:
        raise ValueError(
            f"an output must be (batch, classes) or (batch, time, vocabulary), got shape {tuple(output.shape)}; "
            "wrap the model in a function that returns one of these"
        )
    if answer is None:
        if logits.shape[1] > 1:
            raise ValueError(f"answer must choose one of the {logits.shape[1]} outputs, got None; try answer=0")
        return logits[:, 0]
    chosen = logits[:, _index("answer", answer, logits.shape[1])]
    return chosen if wrong is None else chosen - logits[:, _index("wrong", wrong, logits.shape[1])]


def _expect_one_each(scores: Any, output: Tensor) -> Tensor:
    if not isinstance(scores, Tensor) or scores.shape != output.shape[:1]:
        what = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(
            f"answer must make one number of each of the {len(output)} examples, got {what} from an output of shape "
            f"{tuple(output.shape)}; return a tensor (batch), as in lambda y: y[:, 0]"
        )
    return scores


def _index(name: str, i: int, size: int) -> int:
    low = -size if name == "position" else 0
    if not low <= i < size:
        raise ValueError(f"{name} must be from {low} to {size - 1}, got {i}; the model's output has {size} of them")
    return i


def words_for(model: Any, decode: Decode | None) -> Callable[[int], str]:
    """The text of one token: by ``decode``, else by the tokenizer that came with the model, else its number."""
    own = getattr(getattr(model, "tokenizer", None), "decode", None)
    read = decode or own
    return str if read is None else lambda token: str(read([token]))


def tolerance(x: Tensor) -> float:
    """How far two ways to compute numbers of this size may lie apart, ε^⅔ of the largest: for guards, not for tests.

    ε is float32's at least: transformers' RMS norms compute in it even in a model of float64.
    """
    eps = max(torch.finfo(kind).eps for kind in (x.dtype, torch.float32))
    return float(eps ** (2 / 3) * max(1.0, float(x.detach().abs().max())))
