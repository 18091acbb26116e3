r"""The test split of a run, which nothing else reads: measured once, and noted in test.json with the weights."""

from typing import TYPE_CHECKING

from cutaway.atomic_files import write_json
from cutaway.checksums import crc32_of_json
from cutaway.data.fingerprints import digest_file
from cutaway.tasks.abilities.ability import expect_method
from cutaway.tasks.abilities.verbs.test import ABILITY
from cutaway.training.run_folder.checkpoints import writing_to
from cutaway.training.run_folder.weights import expect_sound

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def test(run: "Run", unfinished: bool = False) -> dict[str, float]:  # noqa: PT028 -- no test of pytest
    """Metrics on the test split, which nothing else reads. It is read once: later calls return what was noted.

    A run that is not finished is refused, unless ``unfinished`` says that the split is to be spent on it.
    """
    path = run.weights()
    if path != run.own_weights and not unfinished:
        raise ValueError(
            f"the test split is read once, when a run is finished, but {run.progress(path)}; {run.way_on()}, "
            "or read it now: --unfinished, in Python run.test(unfinished=True)"
        )
    expect_sound(path)
    weights = digest_file(path)
    if (before := run.test_results) is not None:
        if before["weights"] != weights:
            raise ValueError(
                f"the test split is read once, and it was, for other weights of {run.path}; to choose between "
                "models use the validation split, else the test is none any more (to start over, delete test.json)"
            )
        return before["metrics"]
    metrics = expect_method(run, ABILITY)()
    results = {"weights": weights, "metrics": metrics}
    with writing_to(run.path):
        write_json(run.path / "test.json", results | {"crc32": crc32_of_json(results)}, parents=False)
    return metrics
