"""Run folders of an earlier Cutaway load, answer as they did, offer what they offered, and go on to the same end.

`old_runs/NAME.zip` holds a run that is finished, the same run stopped at a checkpoint, the data and the base if they
need any, and `expected.json`: what was asked of them when they were made, and what they answered (`old_runs/make.py`).
"""

import json
import math
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.tasks.abilities.dispatch import find_method

ARCHIVES = sorted((Path(__file__).parent / "old_runs").glob("*.zip"))
TUNED = "tuned-"  # the names of the recipes of `cut.tune` begin so


# What is not public, or may get another spelling: one function each.


def verbs_offered(run: Any) -> list[str]:
    """The verbs that a run can be asked for."""
    return [ability.verb for ability in cut.abilities(run)]


def views_that_suit(run: Any) -> list[str]:
    """The names of the views that `cutaway look` draws of a run."""
    from cutaway.registry import views

    return [view.name for view in views() if view.fits(run)]


def inputs_to_attack(run: Any, most: int) -> tuple[Any, Any]:
    """Images of validation that an attack may change, and their classes."""
    images, labels, _ = run.method("labelled_inputs")(None, "validation", most)
    return images, labels


# Questions and answers.


def ask(run: Any, question: dict[str, Any]) -> Any:
    """The answer of a run to a question of expected.json: most are a method of the run and what it is given."""
    name, given, how = question["ask"], question.get("given", []), question.get("how", {})
    if name == "inputs to attack":
        return inputs_to_attack(run, 6)
    if name == "attack":
        images, labels = inputs_to_attack(run, 6)
        found = cut.attack(run, images, labels, **how)
        return {"success": found.success, "change": (found.images - images).abs().amax()}  # signs of ≈0 may differ
    if name == "decode of encode":
        return run.decode(run.encode(*given))
    return getattr(run, name)(*given, **how)


def told(answer: Any) -> Any:
    """An answer as plain values: arrays and long lists by their size and some of their entries."""
    if isinstance(answer, torch.Tensor):
        answer = answer.detach().cpu().numpy()
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "biuf":
        flat = answer.astype(np.float64).ravel()
        some = flat[np.linspace(0, flat.size - 1, min(flat.size, 12)).round().astype(int)] if flat.size else flat
        return {
            "shape": list(answer.shape),
            "entries": [told(value) for value in some.tolist()],
            "mean": told(flat.mean().item()),
            "largest": told(np.abs(flat).max(initial=0.0).item()),
        }
    if hasattr(answer, "to_pandas"):  # a forecast
        answer = answer.to_pandas()
    if hasattr(answer, "iterrows"):  # a table
        rows = answer.head(6).to_dict("records")
        return {"columns": [str(name) for name in answer.columns], "count": len(answer), "rows": [*map(told, rows)]}
    if isinstance(answer, cut.blocks.Graph):
        return {"vertices": answer.vertices, "edges": sorted(map(sorted, answer.edges.T.tolist()))}
    if hasattr(answer, "metrics"):  # a backtest
        answer = answer.metrics
    if isinstance(answer, dict):
        return {str(key): told(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple | np.ndarray):
        first = [told(value) for value in answer[:6]]
        return first if len(answer) <= 6 else {"count": len(answer), "first": first}
    if isinstance(answer, np.generic):
        answer = answer.item()
    if isinstance(answer, float):
        return float(f"{answer:.7g}") if math.isfinite(answer) else str(answer)
    return answer if isinstance(answer, str | int | None) else str(answer)


def last_rows(run: Any) -> dict[str, dict[str, Any]]:
    """The last line of the metrics of every part, but for times."""
    return {row["split"]: {k: v for k, v in row.items() if k != "seconds"} for row in run.metrics if "split" in row}


def course(run: Any) -> list[list[Any]]:
    """At which steps which part was measured."""
    return [[row.get("step"), row.get("split")] for row in run.metrics]


def differences(
    found: Any, expected: Any, rtol: float, atol: float, words: bool = True, place: str = "answer"
) -> Iterator[str]:
    """Where an answer is another than the recorded one; without ``words``, numbers alone are compared."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if missing := expected.keys() - found.keys():
            yield f"{place} lacks {sorted(missing)}"
        if "largest" in expected and isinstance(expected["largest"], float):
            atol *= max(1.0, expected["largest"])  # an entry near 0 is known to the precision of its neighbours
        for key in expected.keys() & found.keys():
            yield from differences(found[key], expected[key], rtol, atol, words, f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            yield f"{place} has {len(found)} entries where it had {len(expected)}"
        for i, (one, other) in enumerate(zip(found, expected, strict=False)):
            yield from differences(one, other, rtol, atol, words, f"{place}[{i}]")
    elif _is_number(expected) and _is_number(found):
        if not math.isclose(found, expected, rel_tol=rtol, abs_tol=atol):
            yield f"{place} is {found} where it was {expected}"
    elif type(found) is not type(expected) or (words and found != expected):
        yield f"{place} is {found!r} where it was {expected!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.stem)
def unpacked(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """What was recorded; the runs are in the working folder."""
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as many as the runs were made with
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another torch, runs that are not finished …
        yield json.loads(Path("expected.json").read_text(encoding="utf-8"))
    torch.set_num_threads(threads)


def test_a_finished_run_is_what_it_was(unpacked: dict[str, Any]):
    expected = unpacked["finished"]
    run = cut.load("finished")
    assert run.finished
    assert run.config.name == unpacked["recipe"]
    assert [*differences(last_rows(run), expected["metrics"], 1e-6, 0.0)] == []
    assert set(expected["verbs"]) <= set(verbs_offered(run))
    for ability in cut.abilities(run):
        assert ability.offer is None or find_method(run, ability.needs) is not None, ability.verb
    assert set(expected["views"]) <= set(views_that_suit(run))
    wrong = []
    for question in expected["questions"]:
        found = differences(told(ask(run, question)), question["answer"], 1e-3, 1e-4, place=question["ask"])
        wrong += [f"{difference}: {question.get('given')}" for difference in found]
    if "test" in expected:
        wrong += differences(told(run.test()), expected["test"], 1e-3, 1e-4, place="test")
    assert wrong == []


def test_a_stopped_run_goes_on_to_the_same_end(unpacked: dict[str, Any]):
    expected = unpacked.get("stopped")
    if expected is None:
        assert not Path("stopped").exists()
        return
    run = cut.load("stopped")
    assert not run.finished
    assert course(run) == expected["course"]
    question = expected["question"]
    if question is not None:
        assert [*differences(told(ask(run, question)), question["answer"], 1e-3, 1e-4)] == []
    Path("stopped", "report.html").write_text("a report")  # else it is drawn, which takes longer than all the rest
    if unpacked["recipe"].startswith(TUNED):
        run = cut.tune(out="stopped", resume=True, show="quiet")
    else:
        run = cut.train(unpacked["recipe"], out="stopped", resume=True, show="quiet")
    whole = cut.load("finished")
    assert run.finished
    assert course(run) == course(whole)
    end, parts = last_rows(run), unpacked["finished"]["metrics"]
    for part in ("validation", "validation-whole"):
        if "loss" in parts.get(part, {}):
            assert end[part]["loss"] == pytest.approx(parts[part]["loss"], rel=1e-2, abs=1e-4)
    for question in unpacked["finished"]["questions"]:
        assert [*differences(told(ask(run, question)), question["answer"], 5e-2, 2e-2, words=False)] == []
    assert set(unpacked["finished"]["views"]) <= set(views_that_suit(run))
    assert [name for name in unpacked["finished"]["files"] if not Path("stopped", name).is_file()] == []
