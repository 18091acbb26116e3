r"""`imported-vectors`: word vectors that were learned elsewhere, as a run that can be asked and looked at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tasks.words.vector_table import VectorTable
    from cutaway.tasks.words.vectors import KnownWords


@dataclass(frozen=True)
class ImportedVectorsRecipe(Recipe):
    """Word vectors that were learned elsewhere; `cutaway import vectors.txt` makes a run of them."""

    name: ClassVar[str] = "imported-vectors"
    task_kind: ClassVar[str] = "words/vectors"
    abilities: ClassVar[tuple[Offer, ...]] = (Offer("embed"), Offer("nearest"))

    data: str = ""
    """the file that they came from"""

    @override
    def task_of(self, run: "Run") -> "KnownWords":
        """The words alone: the text that they come from is not known."""
        from cutaway.tasks.words.vectors import KnownWords

        return KnownWords(self, run)

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "VectorTable":
        from cutaway.tasks.words.vector_table import VectorTable

        if model is None:
            raise self._cannot("be trained")
        return VectorTable(self, task, model)
