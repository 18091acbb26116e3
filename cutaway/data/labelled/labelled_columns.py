r"""Which column of a table holds the texts and which their labels: by the columns' names, else by what stands in them.

text     the column with the longest values, which hardly repeat
label    of the others, the one with the fewest different values, which do repeat
"""

from collections.abc import Mapping, Sequence

from cutaway.data.checks import nearest

_TEXTS = (
    *("text", "texts", "sentence", "review", "document", "content", "body", "comment", "tweet", "message", "post"),
    *("utterance", "phrase", "question", "headline", "summary", "abstract", "description", "name", "title"),
)
_LABELS = (
    *("label", "labels", "class", "target", "category", "sentiment", "polarity", "topic", "intent", "language"),
    *("genre", "subject", "rating", "stars", "author", "y"),
)
_SAMPLE = 2000  # rows looked at

Columns = Mapping[str, Sequence[str]]


def find_text_and_label(
    columns: Columns, name: str, text: str | None = None, target: str | None = None
) -> tuple[tuple[str, ...], str]:
    """The names of the text columns and of the label column; what the caller says is taken as said.

    ``text`` may name several columns with commas between: their texts are joined.

    >>> columns = {"id": ["1", "2", "3"], "topic": ["a", "b", "a"], "review": ["so good", "so bad", "so so"]}
    >>> find_text_and_label(columns, "reviews.csv")
    (('review',), 'topic')
    """
    if len(columns) < 2:
        (only,) = columns or ("none",)
        raise ValueError(
            f"labelled texts need a column of texts and one of labels, got {name} with {len(columns)} ({only!r}); "
            "put a tab or a comma between a text and its label, and quote texts that hold it"
        )
    label = None if target is None else _asked("target", target, columns, name)
    if text is not None:
        texts = tuple(_asked("text", part, columns, name) for part in _parts(text, columns))
    else:
        texts = (_find(columns, _TEXTS, {label}, longest=True),)
    if label is None:
        label = _find(columns, _LABELS, set(texts), longest=False)
    if label in texts:
        raise ValueError(
            f"text and target must be different columns, got {label!r} for both in {name}; "
            f"its columns are: {', '.join(columns)}"
        )
    return texts, label


def find_text(columns: Columns) -> str:
    """The column of texts: by its name, else the one with the longest values."""
    return _find(columns, _TEXTS, set(), longest=True)


def _parts(text: str, columns: Columns) -> list[str]:
    return [text] if text in columns else [part.strip() for part in text.split(",")]


def _asked(setting: str, column: str, columns: Columns, name: str) -> str:
    if column not in columns:
        raise ValueError(
            f"{setting} must be a column of the table, got {column!r}; the nearest of the {len(columns)} in {name} "
            f"are: {nearest(column, columns)}"
        )
    return column


def _find(columns: Columns, usual: Sequence[str], taken: set[str | None], longest: bool) -> str:
    free = [name for name in columns if name not in taken]
    if not free:
        raise ValueError(
            f"labelled texts need a column of texts and one of labels, got only {', '.join(columns)}; "
            "name fewer columns as texts"
        )
    by_name = {name.strip().casefold(): name for name in reversed(free)}
    for word in usual:
        if word in by_name:
            return by_name[word]
    if longest:
        return max(free, key=lambda name: _mean_length(columns[name]))
    varied = [name for name in free if _distinct(columns[name]) > 1]
    return min(varied or free, key=lambda name: _distinct(columns[name]))


def _mean_length(values: Sequence[str]) -> float:
    some = values[:_SAMPLE]
    return sum(map(len, some)) / max(1, len(some))


def _distinct(values: Sequence[str]) -> int:
    return len({value for value in values if value})


__all__ = ["Columns", "find_text", "find_text_and_label"]
