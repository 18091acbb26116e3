r"""Text that a terminal shows and does not obey: control characters of names and data become their codes.

    visible("a\x1b[31mb")                "a\\u001b[31mb"

Names of files, columns, labels and tokens come from data. Printed raw, an escape sequence in one could move the cursor,
rename the window or hide what follows; a character that turns the direction of writing could show another name than
the one that is there. The codes are those of JSON, so a JSON text means the same before and after.
"""

import re
import sys
from typing import Any

# C0 but tab and line feed, DEL, C1, line and paragraph separators, and what overrides the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""A text with its control characters as codes; tabs and line ends stay.

    >>> visible("red \x1b[31m, \u202eback\n") == "red \\u001b[31m, \\u202eback\n"
    True
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class VisibleStream:
    """A stream of text that writes control characters as codes; all else is the stream's own."""

    def __init__(self, stream: Any) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw_stream(stream: Any) -> Any:
    """The stream behind a `VisibleStream`, for what draws by escape sequences of its own, or writes data as it is."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


def data_output() -> Any:
    """Standard output for data: as it is into a file or a program, visible at a terminal."""
    return sys.stdout if sys.stdout.isatty() else raw_stream(sys.stdout)


__all__ = ["VisibleStream", "data_output", "raw_stream", "visible"]
