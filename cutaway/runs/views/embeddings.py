r"""Views of embeddings: of tokens, of the categories of a table, of positions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from cutaway.look import embedding_map, neighbours, position_profile, position_similarity
from cutaway.look.pages.picture import Picture
from cutaway.runs.views.tables import is_table
from cutaway.tasks.subjects import Subject, token_names
from cutaway.tasks.tables.predict import schema_of

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_MAPPED = 200  # tokens on a map: as many as can be read
_SEARCHED = 6  # tokens whose neighbours are shown
_LEAST = 8  # rows of a map


def has_tokens(run: "Run") -> bool:
    """Runs with embeddings of tokens."""
    return run.tokenizer is not None and hasattr(getattr(run.model, "embed", None), "weight")


def _matrix(run: "Run") -> Any:
    model: Any = run.model
    return model.embed.weight.detach().cpu().float()


def _names(run: "Run") -> tuple[str, ...]:
    return token_names(run.tokenizer, range(min(run.tokenizer.vocabulary, len(_matrix(run)))))


def _readable(names: Sequence[str]) -> list[int]:
    """The tokens that read as something: a byte may be half a character."""
    return [i for i, name in enumerate(names) if name and "\ufffd" not in name]


def tokens(run: "Run", subject: Subject) -> list[Picture]:
    """A map of the token embeddings, by the kind of token."""
    matrix, names = _matrix(run), _names(run)
    chosen = _readable(names)
    known = len(chosen)
    if len(chosen) > _MAPPED:  # those of the text first, then the first in the vocabulary
        own = [int(i) for i in subject.arguments[0].flatten()] if subject.arguments else []
        readable = set(chosen)
        chosen = [i for i in dict.fromkeys([*own, *chosen]) if i in readable][:_MAPPED]
    if len(chosen) < _LEAST:
        return []
    words = [names[i] for i in chosen]
    part = "" if len(chosen) == known else f": {len(chosen)} of {known:,}"
    title = f"Map of the token embeddings{part}"
    kinds = [kind_of(word) for word in words]
    picture = embedding_map(matrix[chosen], words, kinds, perplexity=subject.perplexity, title=title)
    if part:  # BPE learns frequent tokens first
        picture.note += (
            " Shown are the tokens of the text, then the first of the vocabulary: the most frequent of a BPE."
        )
    return [picture]


def kind_of(token: str) -> str:
    """What a token is made of.

    >>> [kind_of(token) for token in (" The", "the", "42", "\\n", "...")]
    ['capital', 'lower case', 'digit', 'blank', 'other']
    """
    word = token.strip()
    if not word:
        return "blank"
    if word.isdigit():
        return "digit"
    if word[0].isalpha():
        return "capital" if word[0].isupper() else "lower case"
    return "other"


def token_neighbours(run: "Run", subject: Subject) -> list[Picture]:
    """The nearest neighbours of some tokens of the text, by cosine."""
    names = _names(run)
    chosen = _readable(names)
    if not subject.arguments or len(chosen) < _LEAST:
        return []
    ids = [int(i) for i in subject.arguments[0].flatten()]
    readable = set(chosen)
    common = [i for i in sorted(dict.fromkeys(ids), key=lambda i: -ids.count(i)) if i in readable]
    wordy = [i for i in common if names[i].strip().isalnum()] or common
    matrix, words = _matrix(run)[chosen], [names[i] for i in chosen]
    asked = list(dict.fromkeys(names[i] for i in wordy))[:_SEARCHED]
    return [neighbours(matrix, words, asked, count=8, title="Nearest neighbours of tokens")] if asked else []


def has_categories(run: "Run") -> bool:
    """Runs of tables with embeddings of categories."""
    return is_table(run) and len(getattr(run.model, "embeddings", ())) > 0


def categories(run: "Run", subject: Subject) -> list[Picture]:
    """Maps of the categories of each column, by their vectors."""
    model: Any = run.model
    found = []
    for column, table in zip(schema_of(run).categories, model.embeddings, strict=True):
        vectors = table.weight.detach().cpu()[2:]  # after those for unseen and missing
        if _LEAST <= len(vectors) <= _MAPPED:
            title = f"Map of the categories of {column.name}"
            found.append(embedding_map(vectors, column.categories, perplexity=subject.perplexity, title=title))
    return found


def has_positions(run: "Run") -> bool:
    """Runs whose positions have vectors, learned or sinusoidal."""
    position = getattr(run.model, "position", None)
    return hasattr(position, "rows") and (hasattr(position, "weight") or _context(run) > 0)


def _context(run: "Run") -> int:
    return getattr(getattr(run.model, "spec", None), "context", None) or 0


def positions(run: "Run", subject: Subject) -> list[Picture]:
    """How alike the vectors of positions are, pair by pair and by distance."""
    model: Any = run.model
    position = model.position
    if hasattr(position, "weight"):
        rows, kind = position.weight.detach().cpu(), "learned"
    else:
        with torch.no_grad():
            rows, kind = position(torch.zeros(1, _context(run), position.width))[0], "sinusoidal"
    return [
        position_similarity(rows, title=f"How alike positions are ({kind})"),
        position_profile(rows, title=f"How alike positions are, by their distance ({kind})"),
    ]
