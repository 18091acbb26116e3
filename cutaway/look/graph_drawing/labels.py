r"""The labels of the boxes and lines of a compute graph, and how much room they take.

    on a line     the shape of the value; the value itself if it has few numbers; after backward that consumer's δ
    on a box      the operator; the name of an input or parameter; of a folded module what it is and holds

Of a δ with many numbers its length |δ| is written; of a value with several uses also the total, Σδ.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch import Tensor

from cutaway.inside.tensor_layouts import dense
from cutaway.look.graph_drawing.folding import Group
from cutaway.look.graph_drawing.rows import Line
from cutaway.look.graph_recording.statistics import norm
from cutaway.look.style.wording import number

if TYPE_CHECKING:
    from cutaway.look.graphs import Graph, Node, Value

NUMBERS = 6  # written out on a line, at most
LETTERS, SMALL = 12.0, 10.5  # pixels
LINE_HEIGHT = 1.32
_WIDTHS = {0.34: " iljtf.,:;'|!I()[]", 0.95: "mwMW@…—%", 0.68: "ABCDEFGHKNOPQRSUVXYZ0123456789δΣ×"}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
LONGEST = 34  # letters of a name


@dataclass(frozen=True)
class Text:
    """A line of words and its style: "name", "value", "soft" or "delta"."""

    words: str
    style: str = "soft"

    @property
    def size(self) -> float:
        return LETTERS if self.style == "name" else SMALL

    @property
    def width(self) -> float:
        bold = 1.1 if self.style == "name" else 1.0
        return bold * self.size * sum(_WIDTH.get(letter, 0.62) for letter in self.words)


@dataclass(frozen=True)
class Look:
    """The look of a box or label: its kind (which gives shape and colour), its lines of text, and its tooltip."""

    kind: str
    texts: tuple[Text, ...]
    hint: str = ""

    @property
    def width(self) -> float:
        wide = max((text.width for text in self.texts), default=0.0)
        return wide + (8.0 if self.kind == "label" else 34.0 if self.kind in ("parameter", "folded", "stack") else 24.0)

    @property
    def height(self) -> float:
        tall = sum(text.size * LINE_HEIGHT for text in self.texts)
        return tall + (2.0 if self.kind == "label" else 10.0)

    @property
    def measure(self) -> tuple[float, float]:
        return round(self.width, 1), round(self.height, 1)


class Words:
    """Everything that is written on a drawing of ``graph``; up to ``numbers`` numbers of a value are written out."""

    def __init__(self, graph: "Graph", groups: Sequence[Group], numbers: int = NUMBERS) -> None:
        if numbers < 0:
            raise ValueError(f"numbers must be at least 0, got {numbers}; 0 writes shapes alone")
        self.graph, self.groups, self.numbers = graph, groups, numbers
        self.values = {value.index: value for value in graph.values}
        self.edges = graph.edges
        self.nodes = {node.index: node for node in graph.nodes}
        self._delta_words: dict[int, tuple[Tensor, str]] = {}  # δs in words, by the id of the tensor
        self.stands = {int(slot[6:]): group for group in groups for slot in group.slots if slot.startswith("value:")}

    @cached_property
    def backward(self) -> bool:
        """Whether a backward pass has left δs."""
        return self.graph.deltas is not None

    def of(self, slot: str) -> Look:
        """The box in a slot."""
        kind, _, key = slot.partition(":")
        if kind == "op":
            return self.operator(self.nodes[int(key)])
        if kind == "group":
            return self.folded(self.groups[int(key)])
        if kind == "value":
            return self.source(self.values[int(key)])
        value = self.values[int(key)]
        return Look("output", (Text("output", "name"),), f"output: {self.described(value)}")

    def operator(self, node: "Node") -> Look:
        texts = [Text(cut(node.name), "name")]
        if node.arguments:
            texts.append(Text(cut(slices(node.arguments), 22)))
        hint = f"{node.title} → " + ", ".join(self.described(value) for value in node.outputs)
        if node.rule is not None:
            hint += f"\n{node.rule.forward}"
        for value in node.outputs:
            texts += self._total(value)
        return Look("operator", tuple(texts), hint)

    def source(self, value: "Value") -> Look:
        kind = value.kind if value.kind in ("input", "parameter") else "constant"
        name = value.name.removeprefix(f"{self.stands[value.index].path}.")
        return Look(
            kind,
            (Text(cut(name or value.kind), "name"), *self._total(value)),
            f"{value.kind} {value.name}: {self.described(value)}",
        )

    def folded(self, group: Group) -> Look:
        times = len(group.inner) if group.stacked else 1
        texts = [Text(cut(group.name), "name")]
        if group.stacked:
            texts.append(Text(f"{times} × {group.kind}"))
        elif group.kind:
            texts.append(Text(group.kind + (f", call {group.call}" if group.call > 1 else "")))
        texts.append(Text(self.holding(group)))
        same = f"\n{times} groups with the same operators and shapes" if group.stacked else ""
        return Look("stack" if group.stacked else "folded", tuple(texts), f"{group.path}: {group.kind}{same}")

    def holding(self, group: Group) -> str:
        """How much is inside a group."""
        operators = len(list(group.nodes))
        learned = sum(value.numel() for value in group.parameters)
        words = f"{number(operators)} operator{'s' * (operators != 1)}"
        return words + (f" · {number(learned)} parameters" if learned else "")

    def title(self, group: Group) -> tuple[Text, ...]:
        """What stands at the top of an open group."""
        kind = f"{len(group.inner)} × {group.kind}" if group.stacked else group.kind
        call = f", call {group.call}" if group.call > 1 and not group.stacked else ""
        return (Text(cut(group.name), "name"), Text(f"{kind}{call}"))

    def label(self, lines: Sequence[Line]) -> Look:
        """The words on a stroke that carries these lines."""
        if len(lines) > 1:
            shapes = [shape_of(self.values[line.value]) for line in lines]
            alike = len(set(shapes)) == 1
            words = f"{len(lines)} × {shapes[0]}" if alike else f"{len(lines)} values"
            return Look("label", (Text(words),), "\n".join(self.carried(line) for line in lines))
        (line,) = lines
        value = self.values[line.value]
        content = self.content(value)
        texts = [Text(part, "value") for part in in_rows(content)] if content else [Text(shape_of(value))]
        delta = self.share(line)
        if delta:
            texts += [Text(part, "delta") for part in in_rows(delta if delta.startswith("|") else f"δ {delta}")]
        return Look("label", tuple(texts), self.carried(line))

    def carried(self, line: Line) -> str:
        value, share = self.values[line.value], self.share(line)
        return f"{value.name}: {self.described(value)}" + (f"; δ {share}" if share else "")

    def described(self, value: "Value") -> str:
        """A value in one line: shape, kind of number, and content or statistics."""
        words = f"{shape_of(value)} {str(value.dtype).removeprefix('torch.')}"
        content = self.content(value)
        return f"{words} = {content}" if content else words

    def content(self, value: "Value") -> str:
        """The numbers of a small value; empty for a large one, or one that was not kept."""
        if value.tensor is None or value.tensor.numel() > self.numbers:
            return ""
        return numbers_of(value.tensor)

    def share(self, line: Line) -> str:
        """δ of the edges that a line carries, if there is one: the sum, as a line carries one value."""
        # a line without edges goes to the result itself
        shares = [self.edges[number].delta for number in line.edges] or [self.values[line.value].delta]
        known = [share for share in shares if share is not None]
        return self._delta(sum(known[1:], known[0])) if known else ""

    def share_of(self, edge: int) -> str:
        """δ of one edge; empty if there is none."""
        delta = self.edges[edge].delta
        return "" if delta is None else self._delta(delta)

    def _delta(self, delta: Tensor) -> str:
        if id(delta) not in self._delta_words:  # one δ stands on several lines and boxes
            few = delta.numel() <= self.numbers
            self._delta_words[id(delta)] = (delta, numbers_of(delta) if few else f"|δ| {number(norm(delta), 3)}")
        return self._delta_words[id(delta)][1]

    def _total(self, value: "Value") -> list[Text]:
        if value.delta is None or len(value.consumers) < 2:
            return []
        total = self._delta(value.delta)
        return [Text(f"Σδ {total}" if not total.startswith("|") else f"Σ {total}", "delta")]


def shape_of(value: "Value") -> str:
    shape = tuple(value.shape)
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def numbers_of(tensor: Tensor) -> str:
    """The numbers of a tensor, as short as one can read.

    >>> import torch
    >>> numbers_of(torch.tensor([[0.25, -2.0], [1e-9, 3.0]]))
    '[[0.25, −2], [1e−09, 3]]'
    """

    def words(part: Any) -> str:
        return f"[{', '.join(map(words, part))}]" if isinstance(part, list) else number(part, 3)

    plain = tensor.detach().cpu()
    if plain.is_nested:
        return f"[{', '.join(numbers_of(part) for part in plain.unbind())}]"
    return words(dense(plain).tolist())


def in_rows(words: str) -> list[str]:
    """A matrix with each of its rows on a line of its own.

    >>> in_rows("δ [[1, 2], [3, 4]]")
    ['δ [[1, 2],', '[3, 4]]']
    """
    return words.replace("], [", "],\n[").split("\n")


def slices(arguments: str) -> str:
    """Slices as they stand in brackets.

    >>> slices("(slice(None, None, None), slice(0, 16, None))")
    '(:, 0:16)'
    """
    short = re.sub(r"slice\(([^,]*), ([^,]*), ([^,)]*)\)", r"\1:\2:\3", arguments)
    return re.sub(r"(\S*:)(\S*):None", r"\1\2", short).replace("None:", ":").replace(":None", ":")


def cut(name: str, longest: int = LONGEST) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
