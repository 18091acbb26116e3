r"""The report of a run is one page that opens offline: what was trained, how training went, and the results.

    write_report("runs/gpt-1", "GPT on my text", config, metrics, samples, pictures)     # → runs/gpt-1/report.html

It is made from plain data: config.json and the rows of metrics.jsonl as they are on disk, samples by step, pictures.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cutaway.look.charts.curves import curves
from cutaway.look.charts.series import Metrics, Series, read_series
from cutaway.look.pages.page import Page
from cutaway.look.pages.parts import Facts, Folded, Part, Sample, Section, Table
from cutaway.look.style.wording import duration, flattened, number

_SAMPLES = 20  # earlier ones shown; all of them are in the run folder
_LONGEST = 20_000  # characters of one sample


def write_report(
    folder: str | os.PathLike[str],
    title: str,
    config: Mapping[str, Any],
    metrics: Metrics,
    samples: Mapping[int, Mapping[str, str]],
    inside: Sequence[Part],
    *,
    test: Mapping[str, float] | None = None,
    parameters: int | None = None,
    unit: str = "",
    when: datetime | None = None,
) -> Path:
    """Writes report.html into a run folder, whole or not at all, and returns its path.

    ``config`` is what the run's config.json holds (recipe, config, data, spec). ``samples`` are by step and name, as in
    samples/. ``inside`` is what is shown of the model: pictures, and words about them. ``test`` holds the figures of
    the test split once it has been read. ``unit`` is the loss's, for the axes.
    """
    page = report_page(title, config, metrics, samples, inside, test=test, parameters=parameters, unit=unit, when=when)
    return page.save(Path(folder) / "report.html")


def report_page(
    title: str,
    config: Mapping[str, Any],
    metrics: Metrics,
    samples: Mapping[int, Mapping[str, str]],
    inside: Sequence[Part],
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
    data = config.get("data")
    sections = [
        Section("Results", _results(metrics, test, _baselines(data) | _before_tuning(data, metrics), _meanings(data))),
        Section("Samples", _samples(samples)),
        Section("Training", _training(metrics, unit)),
        Section("Inside the model", list(inside)),
        Section("Data", _data(data)),
        Section("Test split", _test(test)),
        Section("Settings and model", [*_table("setting", settings), *_table("part", config.get("spec"))]),
    ]
    facts = _facts(settings, metrics, test, parameters) | _tuned_share(data)
    written = f"{when:%Y-%m-%d %H:%M}" + (" UTC" if when.utcoffset() is not None and not when.utcoffset() else "")
    recipe = f"A run of the recipe {config['recipe']}. " if config.get("recipe") else ""
    lead = f"{recipe}{_tuned_from(data)}Report written {written}."
    return Page(title, lead, [s for s in sections if s.parts], facts)


def _shown(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return str(value) if value != "" else "none"


def _facts(
    settings: Mapping[str, Any], metrics: Metrics, test: Mapping[str, float] | None, parameters: int | None
) -> dict[str, Any]:
    """What the run came to, the figure that people ask for first: accuracy and its like before the loss."""
    facts: dict[str, Any] = {}
    for split, found in (("test", test or {}), ("validation", _last(metrics))):
        facts |= {f"{split} {_name(metric)}": found[metric] for metric in _ordered(found) if not _is_naive(metric)}
    for series in read_series(metrics, "loss"):
        facts |= _losses(series)
    if metrics:
        done = max(int(row["step"]) for row in metrics)
        asked = settings.get("steps")
        facts["steps"] = f"{done:,} of {asked:,}" if isinstance(asked, int) and asked != done else done
        kept = [row["weights_of"] for row in metrics if "weights_of" in row]
        facts |= {"weights kept": f"of step {kept[-1]:,}"} if kept else {}
        start = [row["start_was"] for row in metrics if "start_was" in row]
        facts |= {"best before the first step": start[-1]} if start else {}
        temperature = [row["temperature"] for row in metrics if "temperature" in row]
        facts |= {"temperature, by validation": temperature[-1]} if temperature else {}
    timed = [row["seconds"] for row in metrics if isinstance(row.get("seconds"), (int, float))]
    if timed:
        facts["time spent training"] = duration(timed[-1])
    if parameters is not None:
        facts["parameters"] = parameters
    return facts


def _tuned_share(data: Any) -> dict[str, str]:
    """Of a tuned run, how many of its parameters were trained."""
    tuned = data.get("tuning") if isinstance(data, Mapping) else None
    if not isinstance(tuned, Mapping) or not {"trained", "parameters"} <= set(tuned):
        return {}
    share = tuned["trained"] / max(1, tuned["parameters"])
    return {"trained parameters": f"{tuned['trained']:,} ({share:.{0 if share == 1 else 2}%})"}


def _tuned_from(data: Any) -> str:
    """Of a tuned run, what was tuned and how, in a sentence."""
    base, tuned = (data.get("base"), data.get("tuning")) if isinstance(data, Mapping) else (None, None)
    if not isinstance(base, Mapping) or not isinstance(tuned, Mapping):
        return ""
    what = tuned.get("what") or str(tuned.get("way", "")).replace("_", " ")
    return f"Tuned from {base.get('given') or base.get('path')}, a {base.get('model')}; what was trained: {what}. "


def _losses(series: Series) -> dict[str, Any]:
    """The last training loss, and of the validation losses the best."""
    if series.split == "train":
        return {"last training loss": float(series.values[-1])}
    if series.split == "validation" and series.finite.any():
        best = min(range(len(series.values)), key=lambda i: series.values[i] if series.finite[i] else math.inf)
        return {"best validation loss": f"{number(float(series.values[best]))} (step {int(series.steps[best]):,})"}
    return {}


def _last(metrics: Metrics) -> dict[str, float]:
    """The figures of the last evaluation: of the whole validation split if there was one, with the weights kept."""
    rows = [row for row in metrics if str(row.get("split", "")).startswith("validation")]
    row = rows[-1] if rows else {}
    notes = ("step", "split", "seconds", "weights_of", "start_was", "temperature")
    return {k: v for k, v in row.items() if k not in notes and isinstance(v, (int, float))}


def _is_naive(metric: str) -> bool:
    """Whether a figure is the baseline's, which the table of results has in a column of its own."""
    return metric.startswith("baseline_")


def _ordered(figures: Iterable[str]) -> list[str]:
    """The loss comes last: it trains the model, but people ask how often it is right."""
    return sorted(figures, key=lambda metric: metric == "loss")


_WRITTEN = {"r2": "R²", "macro_f1": "macro F1", "f1": "F1", "auc": "AUC", "mrr": "mean reciprocal rank"}


def _name(metric: str) -> str:
    return _WRITTEN.get(metric, metric.replace("_", " "))


def _baselines(data: Any) -> dict[str, Mapping[str, Any]]:
    """What one would reach without a model, as the recipe noted it beside the data: rules and their metrics, by name.

    ``baseline`` is one rule, {"rule", "metrics"}; ``baselines`` are more of them by name.
    """
    data = data if isinstance(data, Mapping) else {}
    more = data.get("baselines")
    found = {"baseline": data.get("baseline")} | (dict(more) if isinstance(more, Mapping) else {})
    return {name: one for name, one in found.items() if isinstance(one, Mapping) and _has_figures(one)}


def _has_figures(baseline: Mapping[str, Any]) -> bool:
    return bool(baseline.get("metrics")) and isinstance(baseline["metrics"], Mapping)


def _before_tuning(data: Any, metrics: Metrics) -> dict[str, Mapping[str, Any]]:
    """The figures at step 0 of a run that was tuned with the head of its base, unless a baseline has them."""
    tuned = data.get("tuning") if isinstance(data, Mapping) else None
    if not isinstance(tuned, Mapping) or tuned.get("head") != "of the base":
        return {}
    if any(str(one["rule"]).startswith("the base") for one in _baselines(data).values()):
        return {}
    first = _last([row for row in metrics if row.get("step") == 0])
    return {"before tuning": {"rule": "the base as it was", "metrics": first}} if first else {}


def _meanings(data: Any) -> Mapping[str, str]:
    """What figures mean, as the recipe noted it beside the data: a clause for each that needs one, by metric."""
    found = data.get("meanings") if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _results(
    metrics: Metrics,
    test: Mapping[str, float] | None,
    baselines: Mapping[str, Mapping[str, Any]],
    meanings: Mapping[str, str],
) -> list[Part]:
    """Every figure of the trained model in one table, those of baselines beside them; then what the figures mean."""
    validation = _last(metrics)
    naive = {name: value for one in baselines.values() for name, value in one["metrics"].items()}
    if not test and not naive:
        return []  # the facts at the top say it all
    columns: dict[str, Mapping[str, Any]] = {"validation": validation}
    if test is not None:
        columns["test"] = test
    columns |= {name: one["metrics"] for name, one in baselines.items()}
    figures = {**validation, **(test or {})}  # a baseline is shown for what was measured of the model
    names = _ordered([metric for metric in figures if not _is_naive(metric)] or list(naive))
    rows = [(_name(metric), *(column.get(metric, "") for column in columns.values())) for metric in names]
    rules = [f"{name}: {one['rule']}" for name, one in baselines.items()]
    if list(baselines) == ["baseline"]:
        rules = [f"The baseline is {baselines['baseline']['rule']}"]
    caption = f"{'; '.join(rules)}: a model is worth what it adds to that." if rules else ""
    if len(rules) > 1:
        caption = f"{'; '.join(rules)}. A model is worth what it adds to these."
    caption = caption[:1].upper() + caption[1:]
    said = [f"{_name(metric).capitalize()}: {meanings[metric]}." for metric in names if metric in meanings]
    return [Table(["figure", *columns], rows), *([caption] if caption else []), *said]


_MORE = {
    "gradient_norm": (
        "Length of the gradient",
        "Spikes are batches that would have thrown the model off; clipping shortens them.",
    ),
    "rate": ("Learning rate", "The schedule of the step size: it rises in the warm-up and falls towards the end."),
}


def _training(metrics: Metrics, unit: str) -> list[Part]:
    """Curves of the figures and the loss by step, and folded away what else the rows have."""
    series = read_series(metrics, "loss")
    if not series:
        return ["Nothing has been logged yet: curves appear here after the first evaluation."]
    if not any(s.finite.any() for s in series):
        return [
            f"None of the {sum(len(s.values) for s in series):,} losses logged is a finite number: the run diverged."
        ]
    figures = [metric for metric in _last(metrics) if metric != "loss" and not _is_naive(metric)]
    parts: list[Part] = [
        curves(
            metrics, metric, caption="How the figure changes over the steps, on data that the model is not trained on."
        )
        for metric in figures[:1]
        if any(s.finite.sum() > 1 for s in read_series(metrics, metric))
    ]
    parts.append(curves(metrics, unit=unit))
    more: list[Part] = []
    if sum(row.get("seconds") is not None for row in metrics) > 1:
        more.append(curves(metrics, by="seconds", unit=unit))
    for metric, (title, caption) in _MORE.items():
        if any(s.finite.sum() > 1 for s in read_series(metrics, metric)):
            smooth = 1 if metric == "rate" else None
            more.append(curves(metrics, metric, title=title, caption=caption, smooth=smooth))
    return [*parts, *([Folded("More curves: loss by time, gradient, learning rate", more)] if more else [])]


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


_FEW = 12  # rows of a table that stand open


def _table(name: str, settings: Any) -> list[Part]:
    if not isinstance(settings, Mapping) or not settings:
        return []
    rows = [(k, _shown(v)) for k, v in flattened(settings).items()]
    table = Table([name, "value"], rows)
    return [table] if len(rows) <= _FEW else [Folded(f"{name.capitalize()}s ({len(rows)})", [table])]


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
