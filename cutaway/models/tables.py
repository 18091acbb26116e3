r"""`TableNet` is a network for the rows of a table: numbers and categories in, the outputs of the task out.

    x = [numbers, pieces(numbers), E₁[c₁], …, E_q[c_q]]         a vector for every category
    x ← φ(x W + b)                                              depth times; with residual, x ← x + φ(norm(x) W + b)
    s = x W + b                                                 the head: values, or logits

Without hidden layers and with one-hot categories this is the linear model of statistics: least squares, logistic
regression, multinomial logistic regression by the task alone. Embeddings of categories in tables: Guo, Berkhahn 2016.
Pieces: Gorishniy et al. 2022. Notes: N3 §2.3–2.5, §4.1.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability, expect_width
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense
from cutaway.blocks.embeddings.numbers import PiecewiseEncoding
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

NORMS = {"none": None, "layer": LayerNorm, "batch": BatchNorm}
_SPREAD = 0.3  # of the first embeddings: beside numbers of spread 1 a category has several entries


@dataclass(frozen=True)
class TableNetSpec(NamedSpec):
    """What goes in (counts of ``numbers``, ids of each category column), what comes out, and what is between."""

    model: ClassVar[str] = "TableNet"

    task: str  # regression | binary | multi-class | multi-label
    outputs: int = 1
    numbers: int = 0
    cardinalities: tuple[int, ...] = ()  # ids of each category column; id 0 stands for one never seen in training
    pieces: tuple[int, ...] = ()  # of each number; (): numbers as they are
    width: int = 128
    depth: int = 2  # hidden layers; 0: a linear model
    embedding: int = 8  # width of a category's vector; 0: one-hot
    activation: str = "relu"
    norm: str = "none"  # none | layer | batch: before every hidden layer but the first
    residual: bool = False
    dropout: float = 0.0
    hide: float = 0.0  # share of categories taken for never seen while training, so that these are learned too

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        Task(self.task, self.outputs)
        expect_positive(width=self.width)
        for name in ("numbers", "depth", "embedding"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}; try {name}=0")
        if not self.numbers and not self.cardinalities:
            raise ValueError("a table must have a number or a category, got numbers=0 and none; count its columns")
        if any(count < 1 for count in self.cardinalities):
            raise ValueError(
                f"every category column must have an id, got cardinalities={self.cardinalities}; count them"
            )
        if self.pieces and len(self.pieces) != self.numbers:
            raise ValueError(
                f"pieces must be a count for each of the {self.numbers} numbers, got {len(self.pieces)} counts; "
                "leave pieces out to take numbers as they are"
            )
        find_activation(self.activation)
        expect_choice("norm", self.norm, NORMS)
        expect_probability(dropout=self.dropout, hide=self.hide)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width if self.depth else 0  # a linear model has no use for its width

    @property
    def inputs(self) -> int:
        """The width of a row once it is encoded."""
        widths = [self.embedding or count - 1 for count in self.cardinalities]
        return self.numbers + sum(self.pieces) + sum(widths)


class TableNet(Model):
    r"""Rows of a table, numbers and ids of categories, through ``depth`` dense layers to the head of their task.

        x = [numbers, pieces(numbers), E₁[c₁], …];  x ← φ(x W + b);  s = x W + b

    Numbers are standardised, categories are ids. One-hot leaves id 0, "never seen", without an entry. A linear model
    (``depth=0``) starts at 0, as there is a single minimum. Tap: ``encoded`` (the first x).
    """

    kind: ClassVar[type[NamedSpec]] = TableNetSpec
    spec: TableNetSpec

    def __init__(self, spec: TableNetSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, TableNetSpec))
        spec = self.spec
        self.pieces = PiecewiseEncoding(spec.pieces) if any(spec.pieces) else None
        tables = spec.cardinalities if spec.embedding else ()
        self.embeddings = nn.ModuleList(Embedding(count, spec.embedding) for count in tables)
        self.encoded = Tap()
        widths = [spec.inputs, *[spec.width] * spec.depth]
        φ = find_activation(spec.activation)
        self.layers = nn.ModuleList(Dense(i, o, φ) for i, o in pairwise(widths))
        norm = NORMS[spec.norm]
        self.norms = nn.ModuleList(norm(spec.width) for _ in range(spec.depth - 1)) if norm else None
        self.head = Head(widths[-1], Task(spec.task, spec.outputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Embeddings of spread 0.3, but "never seen" and "missing" at 0: unless they occur, they say nothing."""
        for table in self.embeddings:
            assert isinstance(table, Embedding)
            nn.init.normal_(table.weight, 0, _SPREAD)
            nn.init.zeros_(table.weight[:2])
        if not self.layers:
            for parameter in self.head.parameters():
                nn.init.zeros_(parameter)

    @override
    def forward(
        self, numbers: Float[Tensor, "*b p"], categories: Int[Tensor, "*b q"] | None = None
    ) -> Float[Tensor, "*b o"]:
        return self.head(self.body(numbers, categories))

    def embed(
        self, numbers: Float[Tensor, "*b p"], categories: Int[Tensor, "*b q"] | None = None
    ) -> Float[Tensor, "*b w"]:
        """The vector of each row: what the last hidden layer says of it."""
        if not self.layers:
            raise ValueError("a linear model has no vectors of rows between inputs and answer; train an mlp")
        return self.body(numbers, categories)

    def body(
        self, numbers: Float[Tensor, "*b p"], categories: Int[Tensor, "*b q"] | None = None
    ) -> Float[Tensor, "*b w"]:
        """A row through all hidden layers."""
        x = self.encode(numbers, categories)
        for i, layer in enumerate(self.layers):
            h = layer(x if self.norms is None or i == 0 else self.norms[i - 1](x))
            h = drop(h, self.spec.dropout, self.training)
            x = x + h if self.spec.residual and i else h
        return x

    def encode(
        self, numbers: Float[Tensor, "*b p"], categories: Int[Tensor, "*b q"] | None = None
    ) -> Float[Tensor, "*b i"]:
        """A row as the network takes it: numbers, their pieces, and a vector for every category."""
        expect_width("numbers", numbers, self.spec.numbers)
        parts = [numbers] if self.pieces is None else [numbers, self.pieces(numbers)]
        if self.spec.cardinalities:
            parts += self._vectors(self._hidden(_expect_ids(categories, self.spec)), numbers.dtype)
        x = torch.cat(parts, -1)
        if self.encoded.live:
            x = self.encoded(x)
        return x

    def _hidden(self, ids: Tensor) -> Tensor:
        if not (self.training and self.spec.hide):
            return ids
        return torch.where(torch.rand(ids.shape, device=ids.device) < self.spec.hide, 0, ids)

    def _vectors(self, ids: Tensor, dtype: torch.dtype) -> list[Tensor]:
        if self.spec.embedding:
            return [table(ids[..., j]) for j, table in enumerate(self.embeddings)]
        counts = enumerate(self.spec.cardinalities)
        return [(ids[..., j, None] == torch.arange(1, n, device=ids.device)).to(dtype) for j, n in counts]


def _expect_ids(categories: Tensor | None, spec: TableNetSpec) -> Tensor:
    if categories is None:
        raise ValueError(
            f"this table has {len(spec.cardinalities)} category columns, got categories=None; pass their ids"
        )
    if categories.is_floating_point() or categories.dtype == torch.bool:
        raise ValueError(f"categories must be ids, whole numbers, got {categories.dtype}; convert them with .long()")
    expect_width("categories", categories, len(spec.cardinalities))
    return categories


__all__ = ["TableNet", "TableNetSpec"]
