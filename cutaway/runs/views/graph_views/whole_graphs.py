r"""Views of runs on whole graphs: what they are taken for."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from cutaway.look import confusion_matrix, scatter
from cutaway.look.pages.picture import Picture
from cutaway.recipes.graphs.gin import GINRecipe
from cutaway.recipes.graphs.graph_outcomes import outcome_outputs
from cutaway.recipes.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def predicts_graphs(run: "Run") -> bool:
    """Runs of models of whole graphs."""
    return isinstance(run.recipe, GINRecipe)


def graph_answers(run: "Run", subject: Subject) -> list[Picture]:
    """What held-out graphs are taken for: class by class, or each value beside the true one."""
    recipe = run.recipe
    assert isinstance(recipe, GINRecipe)
    data = recipe.dataset(run)
    rows = data.train if data.validation is None else data.validation
    assert rows.targets is not None
    outputs = outcome_outputs(run.model, rows.graphs, recipe.scale_of(data))
    if data.classes:
        counts = np.zeros((len(data.classes),) * 2, dtype=np.int64)
        np.add.at(counts, (rows.targets.numpy(), outputs.argmax(1).numpy()), 1)
        return [confusion_matrix(counts, data.classes, title=f"What each class is taken for: {len(rows):,} graphs")]
    points = torch.stack([rows.targets, outputs[:, 0]], 1).numpy()
    picture = scatter(
        points,
        labels=list(rows.names),
        title=f"{data.target or 'value'}: predicted beside true, {len(rows):,} graphs",
        axes=("true", "predicted"),
    )
    return [picture.captioned("On the diagonal a prediction is right; graphs far from it are worth a look.")]
