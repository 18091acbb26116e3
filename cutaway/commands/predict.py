"""`cutaway predict RUN INPUT`: what a trained model says of new inputs."""

import csv
import dataclasses
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.extras import need
from cutaway.tasks.abilities.ability import Offer, offers_of
from cutaway.tasks.abilities.dispatch import find_method
from cutaway.tasks.abilities.verbs.predict import EXAMPLE
from cutaway.visible_text import data_output
from cutaway.waiting import telling_waits

if TYPE_CHECKING:
    import pandas

    from cutaway.recipes.base import Recipe
    from cutaway.runs.run import Run


def main(asked: Any) -> None:
    kind = Path(asked.out).suffix.lower() if asked.out else ".json" if asked.json else ""
    if asked.out and Path(asked.out).exists() and not asked.overwrite:
        raise ValueError(f"--out must be a new file, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out predictions.csv")
    if asked.vertices and not asked.data:
        raise ValueError(f"--vertices is for --data, got --vertices {asked.vertices} alone; add --data edges.csv")
    from cutaway.runs.execution import load

    run = load(asked.run)
    offer = offers_of(type(run.recipe)).get("predict", Offer("predict"))
    if not asked.inputs and not offer.everything:
        takes = offer.takes or EXAMPLE
        raise ValueError(f"there must be something to predict for, got none; add {takes} after the run")
    _expect_kind(kind, asked.out, offer.formats)
    if asked.encoding:
        run.recipe = _encoded(run.recipe, asked.encoding)
    with telling_waits("predicting"):
        found = _of_standard_input(run, asked) if asked.inputs == "-" else _predicted(run, asked, asked.inputs)
    content = written(found, kind or getattr(found, "preferred_format", "") or ".csv")
    if not asked.out:
        data_output().write(content.decode())
        return
    from cutaway.atomic_files import write_bytes

    write_bytes(Path(asked.out), content)
    print(f"{len(found):,} predictions: {asked.out}", file=sys.stderr)


def _predicted(run: "Run", asked: Any, source: str) -> Any:
    read = find_method(run, "read_inputs", with_run=False) or str
    inputs = read(source) if source else None
    return run.predict(inputs, asked.data or None, asked.vertices or None)


def _of_standard_input(run: "Run", asked: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "stdin"
        source.write_bytes(sys.stdin.buffer.read())
        try:
            return _predicted(run, asked, str(source))
        except ValueError as error:
            raise ValueError(str(error).replace(str(source), "standard input")) from error


def _encoded(recipe: "Recipe", encoding: str) -> "Recipe":
    """The recipe, which reads files of another encoding from now on."""
    if "encoding" not in recipe.to_dict():
        raise ValueError(f"--encoding is for runs that read text, got a run of {recipe.name!r}; leave it out")
    changed: Any = {"encoding": encoding}
    return dataclasses.replace(recipe, **changed)


def _expect_kind(kind: str, out: str, own: tuple[str, ...]) -> None:
    """A file's ending must be that of a format in which predictions can be written."""
    kinds = (".csv", ".json", ".parquet", *own)
    if out and kind not in kinds:
        listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        raise ValueError(f"--out must end in {listed}, got {out!r}; try --out predictions{own[0] if own else '.csv'}")


def written(predictions: "pandas.DataFrame | list[dict[str, Any]]", kind: str) -> bytes:
    """Predictions as a file of that kind: a table, or rows by the names of their columns."""
    if kind not in (".csv", ".json", ".parquet"):
        own: Any = predictions  # a recipe with a format of its own gives predictions that can be written in it
        return own.to_text(kind).encode()
    if isinstance(predictions, list):
        return _listed(predictions, kind)
    if kind == ".parquet":
        return bytes(predictions.to_parquet(index=False))
    if kind == ".json":
        return f"{json.dumps(_records(predictions), ensure_ascii=False)}\n".encode()
    return predictions.to_csv(index=False).encode()  # floats as they are: the shortest text that reads back the same


def _records(table: "pandas.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table for JSON: times in ISO's way, null where there is no value."""
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _listed(rows: list[dict[str, Any]], kind: str) -> bytes:
    if kind == ".parquet":
        pandas = need("pandas", "tables", "writing Parquet")
        return bytes(pandas.DataFrame(rows).to_parquet(index=False))
    if kind == ".json":
        return f"{json.dumps(rows, ensure_ascii=False)}\n".encode()
    plain = [{k: v for k, v in row.items() if not isinstance(v, dict)} for row in rows]  # a table has no room for them
    text = io.StringIO()
    writer = csv.DictWriter(text, list(plain[0]) if plain else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    return text.getvalue().encode()
