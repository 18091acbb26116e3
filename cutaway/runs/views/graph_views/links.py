r"""Views of runs on links: the scores of edges and of pairs without one."""

from typing import TYPE_CHECKING

import numpy as np

from cutaway.look import histogram
from cutaway.look.pages.picture import Picture
from cutaway.recipes.graphs.edges.link_pairs import LinkTask
from cutaway.recipes.graphs.links import LinksRecipe
from cutaway.recipes.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def finds_links(run: "Run") -> bool:
    """Runs of models of links."""
    return isinstance(run.recipe, LinksRecipe)


def link_scores(run: "Run", subject: Subject) -> list[Picture]:
    """The scores of held-out links and of pairs without one."""
    recipe = run.recipe
    assert isinstance(recipe, LinksRecipe)
    task = recipe.link_task(recipe.dataset(run))
    held = task.split.validation
    if not len(held) or not isinstance(task, LinkTask):
        return []
    p = 1 / (1 + np.exp(-task.scores(run.model, held.pairs)))
    first, second = (task.kinds[1], task.kinds[0]) if task.kinds else ("links", "pairs without a link")
    parts = {
        f"{name} ({int((held.targets == k).sum()):,})": p[held.targets == k] for name, k in ((first, 1), (second, 0))
    }
    title = "What the network says of held-out pairs"
    picture = histogram(
        {name: values for name, values in parts.items() if len(values)}, title=title, bins=40, value="P"
    )
    return [picture.captioned(f"The {first} should lie at the right end and the {second} at the left.")]
