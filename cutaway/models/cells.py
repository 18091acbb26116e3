r"""`CellNet` is a network for rows of a table of which some cells are not known: it restores them, or does a task.

    z = [z_1, …, z_c]                           a vector for every cell, a learned one where it is not known
    x = z W + b
    x ← x + φ(norm(x) W + b)                    depth times
    s = norm(x) W + b                           scores of every outcome of every column; or the head of a task

Trained to restore hidden cells it learns how columns go together, from rows without any label; under the head of a task
it then needs fewer of them. Rubachev et al. 2022 ("Revisiting pretraining objectives for tabular deep learning");
residual layers: Gorishniy et al. 2021, §3.2. Notes: N3 §2.4, §8.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_probability
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.embeddings.number_bins import NumberBins
from cutaway.blocks.embeddings.table_cells import CellEmbedding
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override


@dataclass(frozen=True)
class CellNetSpec(NamedSpec):
    """The columns (numbers first, then categories), what is between, and the task; "restore" gives cells back."""

    model: ClassVar[str] = "CellNet"

    inputs: tuple[int, ...] = ()  # of each number column: its value, and the waves of a date
    bins: tuple[int, ...] = ()  # outcomes of each number column
    cardinalities: tuple[int, ...] = ()  # values of each category column
    pieces: tuple[int, ...] = ()  # of each number column; (): numbers as they are
    cell: int = 8  # width of a cell's vector
    width: int = 256
    depth: int = 3
    activation: str = "relu"
    dropout: float = 0.1
    task: str = "restore"  # restore | regression | binary | multi-class | multi-label
    outputs: int = 1  # of a task

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task != "restore":
            Task(self.task, self.outputs)
        expect_positive(cell=self.cell, width=self.width, depth=self.depth)
        if len(self.bins) != len(self.inputs):
            raise ValueError(
                f"bins must be a count for each of the {len(self.inputs)} numbers, got {len(self.bins)} counts"
            )
        if not self.outcomes or min(self.outcomes) < 1:
            raise ValueError(
                f"every column must have an outcome, got bins={self.bins}, cardinalities={self.cardinalities}; "
                "count them"
            )
        find_activation(self.activation)
        expect_probability(dropout=self.dropout)

    @property
    def outcomes(self) -> tuple[int, ...]:
        """How many outcomes each column has, numbers first."""
        return self.bins + self.cardinalities

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class CellBlock(nn.Module):
    """x ← x + drop(φ(norm(x) W + b)). Tap: ``output``."""

    def __init__(self, spec: CellNetSpec) -> None:
        super().__init__()
        self.norm = LayerNorm(spec.width)
        self.dense = Dense(spec.width, spec.width, find_activation(spec.activation))
        self.dropout = spec.dropout
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        x = x + drop(self.dense(self.norm(x)), self.dropout, self.training)
        if self.output.live:
            x = self.output(x)
        return x


class CellNet(Model):
    """outputs = CellNet(numbers, categories, known): scores of every column's outcomes, or the outputs of a task.

    Numbers are standardised, categories are ids from 0 on, and ``known`` (rows, columns) is False where a cell is
    hidden or missing. ``bins`` say what the outcomes of numbers are. Tap: ``pooled``, what is known of a row.
    """

    kind: ClassVar[type[NamedSpec]] = CellNetSpec
    tasks: ClassVar[tuple[str, ...]] = ("table",)
    spec: CellNetSpec

    def __init__(self, spec: CellNetSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, CellNetSpec))
        spec = self.spec
        self.cells = CellEmbedding(spec.inputs, spec.cardinalities, spec.cell, spec.pieces)
        self.enter = Linear(spec.cell * len(spec.outcomes), spec.width)
        self.blocks = nn.ModuleList(CellBlock(spec) for _ in range(spec.depth))
        self.norm = LayerNorm(spec.width)
        self.pooled = Tap()
        self.bins = NumberBins(spec.bins)
        restores = spec.task == "restore"
        self.restore = Linear(spec.width, sum(spec.outcomes)) if restores else None
        self.head = None if restores else Head(spec.width, Task(spec.task, spec.outputs))

    @override
    def forward(
        self,
        numbers: Float[Tensor, "b p"],
        categories: Int[Tensor, "b q"],
        known: Bool[Tensor, "b c"] | None = None,
    ) -> Float[Tensor, "b o"]:
        x = self.encode(numbers, categories, known)
        if self.head is not None:
            return self.head(x)
        assert self.restore is not None
        return self.restore(x)

    def encode(
        self,
        numbers: Float[Tensor, "b p"],
        categories: Int[Tensor, "b q"],
        known: Bool[Tensor, "b c"] | None = None,
    ) -> Float[Tensor, "b w"]:
        """A row as one vector."""
        x = self.enter(self.cells(numbers, categories, known).flatten(-2))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if self.pooled.live:
            x = self.pooled(x)
        return x

    def embed(
        self,
        numbers: Float[Tensor, "b p"],
        categories: Int[Tensor, "b q"],
        known: Bool[Tensor, "b c"] | None = None,
    ) -> Float[Tensor, "b w"]:
        """The vector of each row: see `encode`."""
        return self.encode(numbers, categories, known)

    def with_task(self, task: Task) -> "CellNet":
        """The same network under the head of a task, which begins at 0; all other tensors are shared, not copied."""
        new = CellNet(self.spec.but(task=task.kind, outputs=task.outputs)).to(self.device)
        assert new.head is not None
        for parameter in new.head.parameters():
            nn.init.zeros_(parameter)
        new.load_state_dict(
            {name: x for name, x in self.state_dict().items() if not name.startswith(("restore.", "head."))},
            strict=False,
            assign=True,
        )
        return new.train(self.training)

    @override
    def represent(self, *inputs: Any, **options: Any) -> Tensor:
        """What the head of a task reads of rows: see `encode`."""
        return self.encode(*inputs, **options)

    @override
    def decide(self, representation: Tensor, mask: Tensor | None = None) -> Tensor:
        """The outputs of the task for what `represent` gave."""
        assert self.head is not None
        return self.head(representation)

    def outcomes(self, numbers: Float[Tensor, "b p"], categories: Int[Tensor, "b q"]) -> Int[Tensor, "b c"]:
        """What each cell is: the bin of a number, the id of a category."""
        if not self.spec.inputs:
            return categories
        values = torch.stack([x[:, 0] for x in numbers.split(self.spec.inputs, -1)], -1)
        return torch.cat([self.bins(values), categories], -1)


__all__ = ["CellBlock", "CellNet", "CellNetSpec"]
