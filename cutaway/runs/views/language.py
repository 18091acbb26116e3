r"""Views of language models: which tokens surprise them, what they predict layer by layer, and because of what."""

import math
from typing import TYPE_CHECKING, Any

from cutaway.look import (
    contribution_map,
    integrated_gradients,
    lens_map,
    logit_contributions,
    logit_lens,
    saliency_map,
)
from cutaway.look.language.token_strips import token_strip
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import quoted
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_LETTERS, _WORDS = 24, 10  # positions of a lens: as many as stand beside each other


def goes_on(run: "Run") -> bool:
    """Runs of models that go on with a text, whatever is inside them."""
    return run.tokenizer is not None and getattr(run.model, "writes", "") == "continuations"


def surprise(run: "Run", subject: Subject) -> list[Picture]:
    """How much each token of a text surprised the model: −log p of it, given those before."""
    if not subject.arguments or len(subject.tokens) < 2:
        return []
    logs = subject.output(run.model)[0, :-1].float().log_softmax(-1)
    values = -logs.gather(-1, subject.arguments[0][0, 1:, None].cpu()).squeeze(-1)
    picture = token_strip(values, subject.tokens[1:], title="How surprising each token was", value="nats")
    first = quoted(subject.tokens[0])
    picture.note = f"{values.mean():.2f} nats a token on average, after {first}, which is given. {picture.note}"
    return [picture.captioned("The brighter a token, the less the model expected it from those before it.")]


def has_residual_stream(run: "Run") -> bool:
    """Runs of language models that say where their residual stream is."""
    return run.tokenizer is not None and getattr(run.model, "residual_stream", None) is not None


def _decode(run: "Run") -> Any:
    return lambda ids: run.tokenizer.decode(ids)


def lens(run: "Run", subject: Subject) -> Picture:
    """The token that the model would predict if it stopped after each layer."""
    found = logit_lens(run.model, subject.arguments[0], decode=_decode(run))
    last = _LETTERS if all(len(token) < 2 for token in subject.tokens) else _WORDS
    picture = lens_map(found, positions=slice(-last, None), title="Logit lens: the next token, layer by layer")
    if len(subject.tokens) > last:
        picture.note += f" The last {last} of {len(subject.tokens)} positions are shown."
    return picture


def _two_best(run: "Run", subject: Subject) -> tuple[int, int]:
    """The likeliest next token after the subject, and the one after it."""
    best, second = subject.output(run.model)[0, -1].topk(2).indices.tolist()
    return best, second


def contributions(run: "Run", subject: Subject) -> Picture:
    """Which heads and MLPs wrote the likeliest next token, over the second."""
    best, second = _two_best(run, subject)
    found = logit_contributions(run.model, subject.arguments[0], best, second, decode=_decode(run))
    return contribution_map(found, title=f"Who wrote {quoted(found.answer)}, the likeliest next token")


def saliency(run: "Run", subject: Subject) -> Picture:
    """Which tokens the likeliest next token depends on, by integrated gradients."""
    best, second = _two_best(run, subject)
    names = [quoted(run.tokenizer.decode([i])) for i in (best, second)]
    # No warning where the attributions do not quite add up: the note under the picture says by how much.
    found = integrated_gradients(run.model, subject.arguments[0], best, second, tolerance=math.inf)
    title = f"What spoke for {names[0]} as the next token, over {names[1]}"
    return saliency_map(found, list(subject.tokens), title=title)
