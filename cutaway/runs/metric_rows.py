r"""The metrics of a run: the rows of metrics.jsonl, a plain list of dicts that shows itself as a table and a curve.

run.metrics[-1]["loss"]                  as any list
run.metrics                              in a notebook: the curve of the loss, and the last rows
run.metrics.to_pandas()                  for your own analysis
"""

from typing import TYPE_CHECKING, Any

from cutaway.overriding import override

if TYPE_CHECKING:
    import pandas

_SHOWN = 12  # rows: the last ones


class MetricRows(list[dict[str, Any]]):
    """Rows with a ``step``, a ``split`` and figures such as the ``loss``, in the order in which they were written."""

    @override
    def __repr__(self) -> str:
        """A table of the last rows."""
        if not self:
            return "no metrics yet"
        columns = self._columns()
        lines = [columns, *([_shown(row.get(name)) for name in columns] for row in self[-_SHOWN:])]
        wide = [max(len(line[i]) for line in lines) for i in range(len(columns))]
        table = "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, wide)).rstrip() for line in lines)
        left = len(self) - _SHOWN
        return f"{table}\n({left:,} earlier rows)" if left > 0 else table

    def _repr_html_(self) -> str:
        """For Jupyter: the curve of the loss, and below it a table of the last rows."""
        from cutaway.look import curves
        from cutaway.look.pages.parts import Table

        if not self:
            return "<p>no metrics yet</p>"
        columns = self._columns()
        rows = [[row.get(name, "") for name in columns] for row in self[-_SHOWN:]]
        table = Table(columns, rows, caption=f"The last {len(rows)} of {len(self):,} rows").fragment()
        finite = any(isinstance(row.get("loss"), (int, float)) for row in self)
        return (curves(self).to_svg() if finite else "") + table

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a DataFrame, one column a figure."""
        from cutaway.extras import need

        return need("pandas", "tables", "a DataFrame").DataFrame(list(self))

    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for row in self for name in row))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
