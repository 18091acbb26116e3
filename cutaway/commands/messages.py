r"""The library's messages in the language of the command line.

The library speaks of keywords, since Python calls it: `steps must be at least 1, got -5; try steps=800`. At the command
line the same settings are flags: `--steps must be at least 1, got -5; try --steps 800`. Both name a setting by the
field of its dataclass, so the fields tell which words of a message to respell, and nothing else is touched:

- `name=value`, where `name` is a field of the verb that runs and `value` a number, a word or a quoted text;
- the first word, where it is such a name and a verb follows: the subject of the sentence;
- such a name with an underscore, which no English word has.

Quoted texts and calls (`run.test(unfinished=True)`) stay as they are, and so does every word that the person typed:
those are values, not names.
"""

import ast
import re
from collections.abc import Sequence

from cutaway.tasks.abilities.flag import Flag

# The flags of the verb that runs, and the words that it was given. A process runs one verb.
_flags: dict[str, Flag] = {}
_typed: set[str] = set()

_QUOTED = r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`)"
_KEYWORD = rf"(?<![\w/.-])(?<!\w\()(?P<name>[a-z_]+)=(?P<value>{_QUOTED}|[\w.+%-]*\w%?)"
_UNDERSCORED = r"(?<![\w/.-])(?P<word>[a-z]+(?:_[a-z]+)+)(?![\w=/.-]\w)"
_PIECES = re.compile(rf"(?P<quoted>{_QUOTED})|{_KEYWORD}|{_UNDERSCORED}")
_SUBJECT = re.compile(r"(?P<name>[a-z_]+)(?= (?:must|needs|is|are|has|takes)\b)")


def speak_of(flags: Sequence[Flag], typed: Sequence[str]) -> None:
    """Sets the flags that messages are spelled by, and what the person typed."""
    _flags.clear()
    _flags.update({flag.name: flag for flag in flags})
    _typed.clear()
    _typed.update(typed)


def in_flags(message: str) -> str:
    """A message with settings spelled as flags.

    >>> speak_of([Flag("steps", int), Flag("tokenizer"), Flag("resume", bool, default=False)], ["--steps", "-5"])
    >>> in_flags("steps must be at least 1, got -5; try steps=800")
    '--steps must be at least 1, got -5; try --steps 800'
    >>> in_flags("a text has 'steps=5' in it; try tokenizer='bpe 8', resume=True")
    "a text has 'steps=5' in it; try --tokenizer 'bpe 8', --resume"
    """
    message = _SUBJECT.sub(lambda found: _named(found["name"]), message, count=1) if _starts(message) else message
    return _PIECES.sub(_respelled, message)


def _starts(message: str) -> bool:
    found = _SUBJECT.match(message)
    return found is not None and found["name"] not in _typed


def _named(name: str) -> str:
    return _flags[name].spelled if name in _flags else name


def _respelled(found: re.Match[str]) -> str:
    """One piece of a message: a quoted text as it is, a keyword as a flag."""
    whole, name, value = found[0], found["name"], found["value"]
    if found["word"]:
        return whole if whole in _typed else _named(whole)
    if found["quoted"] or name not in _flags or whole in _typed:
        return whole
    text = ast.literal_eval(value) if value[0] in "'\"" else value
    flag = _flags[name]
    if flag.kind is bool:
        return flag.given({"True": True, "False": False}.get(text, text))
    return flag.given(text)
