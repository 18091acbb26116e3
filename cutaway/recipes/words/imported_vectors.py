r"""`imported-vectors`: word vectors that were learned elsewhere, as a run that can be asked and looked at."""

from dataclasses import dataclass
from typing import ClassVar

from cutaway.recipes.base import Recipe
from cutaway.recipes.words.vector_runs import VectorRuns


@dataclass(frozen=True)
class ImportedVectorsRecipe(VectorRuns, Recipe):
    """Word vectors that were learned elsewhere; `cutaway import vectors.txt` makes a run of them."""

    name: ClassVar[str] = "imported-vectors"

    data: str = ""
    """the file that they came from"""
