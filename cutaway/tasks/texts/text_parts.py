r"""The labelled texts of a recipe in their three parts, from a file or from a table in memory."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.data.labelled.labelled_texts import LabelledTexts
    from cutaway.runs.run import Run


def read_parts(recipe: Any, run: "Run | None" = None) -> "LabelledTexts":
    """The texts that a recipe's settings name; those of a ``run`` must be what they were."""
    from cutaway.data.labelled.labelled_texts import read_labelled

    texts = read_labelled(
        recipe.data,
        text=recipe.text or None,
        target=recipe.target or None,
        validation=recipe.validation,
        test=recipe.test_file or recipe.test,
        seed=recipe.seed,
        encoding=recipe.encoding,
        header=recipe.header,
    )
    if run is not None:
        run.expect_same_data(texts.fingerprint)
    return texts
