"""`cutaway forecast RUN`: what comes after series, with quantiles."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from cutaway.commands.flags import parse_flags
from cutaway.commands.predict import written
from cutaway.visible_text import data_output
from cutaway.waiting import telling_waits

_FORMATS = (".csv", ".json", ".parquet")


@dataclass(frozen=True)
class ForecastSeries:
    """Forecasts the series that the run was trained on, or those of another file, and prints quantiles as CSV.

    A row for each step of each series: unique_id, ds, mean, and a column for each quantile. A file of other series has
    the columns of training. With --out picture.png (.svg, .html) the forecasts are drawn behind their history.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway forecast runs/deepar-1 --horizon 24",
        "cutaway forecast runs/deepar-1 --data new.csv --out forecast.csv",
        "cutaway forecast runs/deepar-1 --quantiles 0.05 0.5 0.95 --out forecast.html",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    horizon: int | None = None
    """steps to forecast (default: as many as in training)"""
    data: str = ""
    """a CSV or Parquet file of other series to go on from; - for standard input"""
    future: str = ""
    """a file of covariates known ahead, where --data or the data of training does not reach as far"""
    series: tuple[str, ...] = ()
    """only these series, by their names"""
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    """levels between 0 and 1"""
    samples: int = 200
    """paths drawn for each series: more make quantiles steadier"""
    seed: int = 0
    """the same seed gives the same forecast"""
    out: str = ""
    """a file to write instead of printing: .csv, .json or .parquet, or a picture: .png, .svg or .html"""
    overwrite: bool = False
    """write --out even if there is such a file"""
    json: bool = False
    """print JSON, an object for each step"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(ForecastSeries, "cutaway forecast", argv)
    kind = Path(asked.out).suffix.lower() if asked.out else ".json" if asked.json else ".csv"
    pictures = (".png", ".svg", ".html")
    if kind not in (*_FORMATS, *pictures):
        raise ValueError(
            f"--out must end in {', '.join(_FORMATS)}, or be a picture ({', '.join(pictures)}), got {asked.out!r}; "
            "try --out forecast.csv"
        )
    if asked.out and Path(asked.out).exists() and not asked.overwrite:
        raise ValueError(f"--out must be a new file, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out forecast.csv")
    from cutaway.runs.execution import load

    run = load(asked.run)
    with tempfile.TemporaryDirectory() as folder:
        source = asked.data or None
        if source == "-":
            source = str(Path(folder) / "stdin")
            Path(source).write_bytes(sys.stdin.buffer.read())
        with telling_waits("forecasting"):
            forecast = run.forecast(
                source, asked.horizon, asked.future or None, asked.quantiles, asked.samples, asked.seed
            )
    if asked.series:
        forecast = forecast.only(asked.series)
    if kind in pictures:
        from cutaway.runs.views.series import forecast_picture

        forecast_picture(forecast).save(asked.out)
    elif not asked.out:
        data_output().write(written(forecast.to_pandas(), kind).decode())
        return
    else:
        from cutaway.atomic_files import write_bytes

        write_bytes(Path(asked.out), written(forecast.to_pandas(), kind))
    print(f"{len(forecast):,} series, {forecast.horizon} steps: {asked.out}", file=sys.stderr)
