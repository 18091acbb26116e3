r"""Sample tagged text: the lines of Python's own library, with the role of every word and sign.

    def   keyword        area  function       (  sign       radius  parameter       )  sign

A name can be a function where it is defined, a call where it is used, a parameter, an attribute or a variable: only the
words around it tell. The roles are found with Python's tokenizer and a few rules; a model learns them from examples.
"""

import builtins
import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cutaway.data.files import TextSource

LINES = 9_000  # of code, in the sample
_LONGEST = 40  # words of a line
_WORTH = 4  # words, at least
_WIDEST = 60  # characters of a word
_OPEN, _CLOSE = "([{", ")]}"
_SKIPPED = (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
_KINDS = {tokenize.NUMBER: "number", tokenize.COMMENT: "comment", tokenize.OP: "sign"}
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))


class Word(NamedTuple):
    """A token of Python's, its kind and its text."""

    kind: int
    text: str


def split_python(code: str) -> list[list[str]]:
    """The words of each line of code; what is no Python at its end is left out.

    >>> split_python("x = f(1)  # one")
    [['x', '=', 'f', '(', '1', ')', '# one']]
    """
    return [[word.text for word in line] for line in _logical_lines(code)]


def roles(line: Sequence[Word]) -> list[str]:
    """The role of each word of a logical line.

    >>> line = next(_logical_lines("def area(r): return pi * r"))
    >>> roles(line)
    ['keyword', 'function', 'sign', 'parameter', 'sign', 'sign', 'keyword', 'variable', 'sign', 'variable']
    """
    found: list[str] = []
    opened: list[str] = []  # the role of what stands before each open bracket
    for i, word in enumerate(line):
        if word.text in _OPEN:
            opened.append(found[-1] if found else "")
        elif word.text in _CLOSE and opened:
            opened.pop()
        if word.kind != tokenize.NAME:
            found.append(_KINDS.get(word.kind, "string"))  # the rest: strings, and the parts of formatted ones
        else:
            found.append(_role_of_name([w.text for w in line], i, opened[-1] if opened else ""))
    return found


def _role_of_name(words: list[str], i: int, inside: str) -> str:
    name, before, after = words[i], words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
    if keyword.iskeyword(name):
        return "keyword"
    if before in ("def", "class"):
        return "function" if before == "def" else "class"
    if words[0] in ("import", "from"):
        return "module" if words[0] == "import" or "import" not in words[:i] else "imported"
    if before == ".":
        return "method" if after == "(" else "attribute"
    if inside == "function" and before in ("(", ",", "*", "**"):
        return "parameter"
    if inside in ("call", "method", "builtin", "class") and after == "=":
        return "argument"
    if name in _BUILTINS:
        return "builtin"
    return "call" if after == "(" else "variable"


def _logical_lines(code: str) -> Iterator[list[Word]]:
    line: list[Word] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            comments_alone = token.type == tokenize.NL and all(word.kind == tokenize.COMMENT for word in line)
            if token.type == tokenize.NEWLINE or comments_alone:
                if line:
                    yield line
                line = []
            elif token.type not in _SKIPPED and token.string.strip():
                line.append(Word(token.type, " ".join(token.string.split())))
    except (tokenize.TokenError, SyntaxError):  # the beginning of something: its words are all that is wanted
        pass
    if line:
        yield line


def sample_roles(name: str) -> TextSource:
    """Lines of Python's library with the role of each word, a tab between; each line once."""
    from cutaway.data.samples.embedded import cached_text

    return cached_text(name, lambda: "\n".join(_blocks()))


def _blocks() -> Iterator[str]:
    for line in _distinct_lines():
        yield "".join(f"{word.text}\t{role}\n" for word, role in zip(line, roles(line), strict=True))


def _distinct_lines() -> list[list[Word]]:
    """As many lines as the sample has, of modules in an order that is fixed but mixed."""
    from cutaway.data.samples.embedded import library_modules

    found: dict[str, list[Word]] = {}
    for _, code in sorted(library_modules().items(), key=lambda item: hashlib.sha256(item[0].encode()).digest()):
        for line in _logical_lines(code):
            if _WORTH <= len(line) <= _LONGEST and all(len(word.text) <= _WIDEST for word in line):
                found.setdefault(" ".join(word.text for word in line), line)
        if len(found) >= LINES:
            break
    return list(found.values())[:LINES]


__all__ = ["roles", "sample_roles", "split_python"]
