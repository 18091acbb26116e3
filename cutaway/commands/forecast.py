"""`cutaway forecast RUN`: what comes after series, with quantiles."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from cutaway.commands.predict import written
from cutaway.visible_text import data_output
from cutaway.waiting import telling_waits

_FORMATS = (".csv", ".json", ".parquet")


def main(asked: Any) -> None:
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
        source = asked.history or None
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
