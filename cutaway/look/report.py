r"""The report of a run: one page that opens offline, with what was trained, how it went and what came out.

    write_report("runs/gpt-1", "GPT on my text", config, metrics, samples, pictures)     # → runs/gpt-1/report.html

Plain data in: config.json and the rows of metrics.jsonl as they are on disk, samples by step, any pictures.
"""

import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cutaway.look.charts.curves import curves
from cutaway.look.charts.series import Metrics, Series, read_series, split_name
from cutaway.look.pages.page import Page
from cutaway.look.pages.parts import Facts, Folded, Part, Sample, Section, Table
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import duration, flattened

_SAMPLES = 20  # earlier ones shown; all of them are in the run folder
_LONGEST = 20_000  # characters of one sample


def write_report(
    folder: str | os.PathLike[str],
    title: str,
    config: Mapping[str, Any],
    metrics: Metrics,
    samples: Mapping[int, Mapping[str, str]],
    pictures: Sequence[Picture],
    *,
    test: Mapping[str, float] | None = None,
    parameters: int | None = None,
    unit: str = "",
    when: datetime | None = None,
) -> Path:
    """Writes report.html into a run folder, whole or not at all, and returns its path.

    ``config`` is what the run's config.json holds (recipe, config, data, spec). ``samples`` are by step and name, as in
    samples/. ``test`` holds the figures of the test split once it has been read. ``unit`` is the loss's, for the axes.
    """
    page = report_page(
        title, config, metrics, samples, pictures, test=test, parameters=parameters, unit=unit, when=when
    )
    return page.save(Path(folder) / "report.html")


def report_page(
    title: str,
    config: Mapping[str, Any],
    metrics: Metrics,
    samples: Mapping[int, Mapping[str, str]],
    pictures: Sequence[Picture],
    *,
    test: Mapping[str, float] | None = None,
    parameters: int | None = None,
    unit: str = "",
    when: datetime | None = None,
) -> Page:
    """The page that `write_report` writes."""
    if not isinstance(config.get("config"), Mapping):
        raise ValueError(
            f"config must be what a run's config.json holds, with the settings under 'config', got the keys "
            f"{', '.join(map(str, config)) or 'none'}; wrap settings as {{'recipe': ..., 'config': settings}}"
        )
    settings = config["config"]
    when = when or datetime.now(UTC)
    sections = [
        Section("Loss", _loss(metrics, unit)),
        Section("Samples", _samples(samples)),
        Section("Inside the model", list(pictures)),
        Section("Data", _data(config.get("data"))),
        Section("Test split", _test(test)),
        Section("Settings", _table("setting", settings)),
        Section("Model", _table("part", config.get("spec"))),
    ]
    facts = _facts(config, settings, metrics, parameters, test)
    written = f"{when:%Y-%m-%d %H:%M}" + (" UTC" if when.utcoffset() is not None and not when.utcoffset() else "")
    recipe = f"A run of the recipe {config['recipe']}. " if config.get("recipe") else ""
    lead = f"{recipe}Report written {written}."
    return Page(title, lead, [s for s in sections if s.parts], facts)


def _shown(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return str(value) if value != "" else "none"


def _facts(
    config: Mapping[str, Any],
    settings: Mapping[str, Any],
    metrics: Metrics,
    parameters: int | None,
    test: Mapping[str, float] | None,
) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if metrics:
        done = max(int(row["step"]) for row in metrics)
        asked = settings.get("steps")
        facts["steps"] = f"{done:,} of {asked:,}" if isinstance(asked, int) and asked != done else done
    timed = [row["seconds"] for row in metrics if isinstance(row.get("seconds"), (int, float))]
    if timed:
        facts["time spent training"] = duration(timed[-1])
    if parameters is not None:
        facts["parameters"] = parameters
    for series in read_series(metrics, "loss"):
        facts |= _losses(series)
    if test is not None and "loss" in test:
        facts["test loss"] = test["loss"]
    return facts


def _losses(series: Series) -> dict[str, Any]:
    last = float(series.values[-1])
    if series.split not in ("train", "validation"):
        return {f"loss, {split_name(series.split)}": last}
    word = split_name(series.split)
    facts: dict[str, Any] = {f"last {word} loss": last}
    if series.split == "validation" and series.finite.any():
        best = min(range(len(series.values)), key=lambda i: series.values[i] if series.finite[i] else math.inf)
        facts[f"best {word} loss"] = f"{series.values[best]:.4g} (step {int(series.steps[best]):,})"
    return facts


def _loss(metrics: Metrics, unit: str) -> list[Part]:
    """Curves of the loss, and of what goes with it, as far as the rows have them."""
    series = read_series(metrics, "loss")
    if not series:
        return ["Nothing has been logged yet: curves appear here after the first evaluation."]
    if not any(s.finite.any() for s in series):
        return [
            f"None of the {sum(len(s.values) for s in series):,} losses logged is a finite number: the run diverged."
        ]
    parts: list[Part] = [curves(metrics, unit=unit)]
    if sum(row.get("seconds") is not None for row in metrics) > 1:
        parts.append(curves(metrics, by="seconds", unit=unit))
    extras = {"gradient_norm": "Length of the gradient", "rate": "Learning rate, as a share of the full one"}
    for metric, title in extras.items():
        if any(s.finite.sum() > 1 for s in read_series(metrics, metric)):
            parts.append(curves(metrics, metric, title=title, smooth=1 if metric == "rate" else None))
    return parts


def _samples(samples: Mapping[int, Mapping[str, str]]) -> list[Part]:
    """Those of the newest step open, earlier ones folded away, newest first."""
    newest, *before = sorted(samples, reverse=True) or [0]

    def of(step: int) -> list[Part]:
        named = samples.get(step, {})
        several = len(named) > 1
        return [Sample(_cut(text), f"Step {step:,}" + f", {name}" * several) for name, text in named.items()]

    earlier = [sample for step in before for sample in of(step)]
    if len(earlier) > _SAMPLES:
        left = f"{len(earlier) - _SAMPLES:,} more are in the folder samples/ of the run."
        earlier = [*earlier[:_SAMPLES], left]
    return [*of(newest), *([Folded("Earlier samples", earlier)] if earlier else [])]


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n… {len(text) - _LONGEST:,} more characters, in the folder samples/ of the run"


def _table(name: str, settings: Any) -> list[Part]:
    if not isinstance(settings, Mapping) or not settings:
        return []
    return [Table([name, "value"], [(k, _shown(v)) for k, v in flattened(settings).items()])]


def _data(data: Any) -> list[Part]:
    if isinstance(data, Mapping) and data.get("summary"):
        return [Sample(str(data["summary"]))]
    return _table("about the data", data)


def _test(test: Mapping[str, float] | None) -> list[Part]:
    if test is None:
        return [
            "Not read yet. The test split is for one last look (cutaway test), when nothing will be changed any "
            "more: a model that was chosen by its test figures has no honest ones left."
        ]
    return [
        "Read once, after training; no choice was made by these figures.",
        Facts({name.replace("_", " "): value for name, value in test.items()}),
    ]
