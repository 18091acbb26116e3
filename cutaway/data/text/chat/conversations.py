r"""Conversations to learn answers from: read from JSON lines or a table, written as text, with the answers marked.

{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}
{"prompt": "Hi", "response": "Hello!"}              also prompt/completion, instruction/output, question/answer

tokens    <|user|> Hi <|assistant|> Hello ! <end>
learned                             x     x   x                 the answers alone, with what ends them
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.atomic_files import parse_json
from cutaway.data.files import open_plain, read_pieces
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.splits import Splits, split_groups, text_key, told_repeats
from cutaway.data.tables.endings import JSON_LINES
from cutaway.data.tables.text_tables import read_columns
from cutaway.data.text.chat.chat_templates import ROLES, Message, expect_roles
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.waiting import counted

PAIRS = (
    *(("prompt", "response"), ("prompt", "completion"), ("instruction", "output"), ("question", "answer")),
    *(("user", "assistant"), ("input", "output")),
)
_OTHER_NAMES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "ai": "assistant"}
# Written where a tokenizer has no template of its own; a model learns it as it learns the answers.
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}"
    "{% if message['role'] == 'assistant' and eos_token %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)

Conversation = list[Message]


@dataclass(frozen=True)
class Conversations:
    """Conversations in three parts. `splits.open_test` opens the third."""

    name: str
    splits: Splits[list[Conversation]]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        notes = "".join(f"{self.name}: {note}\n" for note in self.notes)
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        turns = np.mean([sum(m["role"] == "assistant" for m in one) for one in self.splits.train])
        return (
            f"{self.name}: conversations for {parts}; {turns:.1f} answers in each\n{notes}"
            f"digest: sha256 {self.fingerprint.digest}"
        )


def read_conversations(
    data: str | Path,
    validation: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    template: str = "",
    together: bool = True,
) -> Conversations:
    """Conversations of a file: JSON lines (or a JSON list), or a table with a column of prompts and one of answers.

    ``template`` is the chat template that will write them: its roles are known beside the usual ones.
    Conversations that ask the same are in one part, unless ``together`` is False (of runs made before they were).
    """
    path = Path(data).expanduser()
    if not path.is_file():
        raise ValueError(
            f"conversations are a file of JSON lines or a table, got {data}, which is none; check its path"
        )
    found = list(_conversations(path, encoding, template))
    if not found:
        raise ValueError(f"there must be a conversation to learn from, got none in {path.name}; see what it holds")
    keys = [_asked(one) if together else i for i, one in enumerate(found)]
    parts, firsts = split_groups(keys, validation, test, seed)
    names = ("train", "validation", "test")
    for name, wanted, rows in zip(names[1:], (validation, test), parts[1:], strict=True):
        if wanted and not len(rows):
            raise ValueError(
                f"every part must have a conversation, got none for {name}={wanted} of {len(found)}"
                f"{_different(keys)}; use more of them or {name}=0"
            )
    train, held, last = ([found[i] for i in rows] for rows in parts)
    splits = Splits(path.name, train, held or None, (lambda: last) if last else None)
    counts = dict(zip(names, map(len, parts), strict=True))
    notes = tuple(told_repeats(firsts, "conversations"))
    return Conversations(path.name, splits, counts, fingerprint_files({path.name: path}), notes)


def _asked(messages: Conversation) -> tuple[tuple[str, str], ...]:
    """What a conversation asks: all before its first answer, or all of it if it begins with one."""
    first = next(i for i, message in enumerate(messages) if message["role"] == "assistant")
    return tuple((message["role"], text_key(message["content"])) for message in messages[:first] or messages)


def _different(keys: Sequence[Hashable]) -> str:
    count = len(set(keys))
    return "" if count == len(keys) else f", which ask {count} different things (equal ones are in one part)"


def _conversations(path: Path, encoding: str, template: str) -> Iterator[Conversation]:
    if any(ending in path.name.casefold() for ending in JSON_LINES):
        for number, row in _json_rows(path, encoding):
            yield as_conversation(row, f"line {number} of {path.name}", template)
        return
    table = read_columns(path, encoding)
    named = {name.strip().casefold(): values for name, values in table.items()}
    pair = next((pair for pair in PAIRS if set(pair) <= set(named)), None)
    if pair is None:
        raise ValueError(
            f"a table of conversations needs a column of prompts and one of answers, got {', '.join(table)} in "
            f"{path.name}; call them prompt and response"
        )
    for number, (asked, said) in enumerate(zip(named[pair[0]], named[pair[1]], strict=True), start=1):
        yield as_conversation({"prompt": asked, "response": said}, f"row {number} of {path.name}")


def _json_rows(path: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    if text.lstrip().startswith("["):
        yield from enumerate(_parsed(text, path.name), start=1)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _parsed(line, f"line {number} of {path.name}")


def _parsed(text: str, place: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"conversations must be JSON, one a line, got {place} ({error}); mend it") from None


def as_conversation(row: Any, place: str, template: str = "") -> Conversation:
    """The messages of a row of any of the known forms; some message must be an answer, and every role known."""
    fields = {str(name).casefold(): value for name, value in row.items()} if isinstance(row, Mapping) else {}
    listed = row if isinstance(row, list) else fields.get("messages", fields.get("conversations"))
    if isinstance(listed, list):
        messages = [_message(one, place) for one in listed]
        try:
            expect_roles(messages, template)
        except ValueError as error:
            raise ValueError(f"{error} (in {place})") from None
    else:
        pair = next((pair for pair in PAIRS if set(pair) <= set(fields)), None)
        if pair is None:
            raise ValueError(
                f"a conversation has messages, or a prompt and a response, got {', '.join(fields) or repr(row)[:40]} "
                f"in {place}; name them so"
            )
        asked, said = (fields[name] for name in pair)
        if pair == ("instruction", "output") and fields.get("input"):
            asked = f"{asked}\n{fields['input']}"
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
    answers = [one for one in messages if one["role"] == "assistant"]
    if not answers or not all(isinstance(one["content"], str) for one in messages):
        raise ValueError(
            f"a conversation must have an answer, a message of the role assistant, and texts alone, got {place} "
            "without; leave it out or mend it"
        )
    if not any(one["content"].strip() for one in answers):
        raise ValueError(f"an answer must have words to learn from, got an empty one in {place}; leave it out")
    return messages


def _message(one: Any, place: str) -> Message:
    if not isinstance(one, Mapping):
        raise ValueError(f"a message must have a role and a content, got {str(one)[:40]!r} in {place}; mend it")
    role, content = one.get("role", one.get("from")), one.get("content", one.get("value"))
    if not isinstance(role, str) or not isinstance(content, str):
        raise ValueError(
            f"a message must have a role and a content, both texts, got {sorted(map(str, one))} in {place}; mend it"
        )
    return {"role": _role(role), "content": content}


def _role(name: str) -> str:
    """A role under its usual name: "Human" is a user; one that no one knows stays as it is.

    >>> [_role(name) for name in ("gpt", "User", "critic")]
    ['assistant', 'user', 'critic']
    """
    usual = name.strip().casefold()
    usual = _OTHER_NAMES.get(usual, usual)
    return usual if usual in ROLES else name


class MarkedText(NamedTuple):
    """The tokens of a conversation, and whether each is part of an answer."""

    tokens: Int[np.ndarray, "_"]
    learned: Int[np.ndarray, "_"]


def mark_answers(tokenizer: Tokenizer, messages: Sequence[Message]) -> list[MarkedText]:
    """A conversation as the tokenizer's template writes it; answers are marked from where the model takes over.

    A token is part of an answer if it begins inside what the template adds for that message. Some templates write an
    answer otherwise when others follow, as those that leave out earlier thoughts: it is learned from a text of its own,
    which ends with it, as the model wrote it.
    """
    whole = tokenizer.chat(messages, reply=False)
    spans, alone = [], []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            last = whole if i + 1 == len(messages) else tokenizer.chat(messages[: i + 1], reply=False)
            span = _added(tokenizer, messages[:i], last, whole)
            if span is not None:
                spans.append(span)
            elif last is not whole and (own := _added(tokenizer, messages[:i], last, last)) is not None:
                alone.append(_marked(tokenizer, last, [own]))
            elif message["content"].strip():
                raise ValueError(
                    "the tokenizer's chat template must write answers after what was said before them, got one that "
                    f"leaves out or moves {_short(message['content'])!r}; take the template of another checkpoint"
                )
    return [_marked(tokenizer, whole, spans), *alone]


def _added(tokenizer: Tokenizer, before: Sequence[Message], after: str, whole: str) -> tuple[int, int] | None:
    """From where to where a text has an answer, by the texts that end before and after it; None if it has it not."""
    opened = tokenizer.chat(before, reply=True) if before else ""
    start, end = (_agreement(text, whole) for text in (opened, after))
    if start < len(opened) and not whole.startswith(tokenizer.chat(before, reply=False)):
        return None  # what was said before is written otherwise
    return (start, end) if start < end else None


def _agreement(a: str, b: str) -> int:
    """How many characters at the beginning are the same."""
    if b.startswith(a):
        return len(a)
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _marked(tokenizer: Tokenizer, text: str, spans: Sequence[tuple[int, int]]) -> MarkedText:
    tokenizer.encode(text)  # says what is wrong with a text
    found = tokenizer._special_reader.encode(str(text), add_special_tokens=False)
    marks = [any(a <= start < b for a, b in spans) for start, _ in found.offsets]
    return MarkedText(np.array(found.ids, np.int64), np.array(marks, np.int64))


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[:most] + "…"


class MarkedTexts(NamedTuple):
    """Many conversations as tokens, their marks, how many were cut, and how many had no answer left."""

    tokens: TokenRows
    marks: TokenRows
    cut: int
    left_out: int


def encode_conversations(tokenizer: Tokenizer, found: Sequence[Conversation], context: int) -> MarkedTexts:
    """Conversations cut to ``context`` tokens; those whose answers begin later are left out."""
    tokens, marks, cut, left_out = [], [], 0, 0
    for messages in counted(found, "writing conversations by the chat template"):
        texts = mark_answers(tokenizer, messages)
        cut += any(len(text.tokens) > context for text in texts)
        kept = [text for text in texts if text.learned[1:context].any()]
        left_out += not kept
        tokens += [text.tokens[:context] for text in kept]
        marks += [text.learned[:context] for text in kept]
    return MarkedTexts(TokenRows.from_rows(tokens), TokenRows.from_rows(marks), cut, left_out)


__all__ = [
    "PLAIN_TEMPLATE",
    "Conversations",
    "MarkedTexts",
    "as_conversation",
    "encode_conversations",
    "mark_answers",
    "read_conversations",
]
