r"""A table that the caller holds in memory as the data of a recipe: the run keeps a copy, so that it can read it again.

cut.train("mlp", data=frame)        # a pandas DataFrame, or {column: values}
"""

import io
from typing import TYPE_CHECKING, Any

from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

    from cutaway.data.fingerprints import Fingerprint

STORED = "data.parquet"  # the copy in the run folder


class TableInMemory(str):
    """What the setting ``data`` becomes if it is given a table: text, as config.json needs it, that holds the table."""

    content: bytes  # of the copy

    @classmethod
    def of(cls, table: Any) -> "TableInMemory":
        """The setting for a DataFrame or a dict of columns."""
        from cutaway.data.tables.table_files import as_frame

        frame = as_frame(table)
        held = cls(frame.attrs.get("name", "a table in memory"))
        held.content = as_parquet(frame)
        return held

    def frame(self) -> "pandas.DataFrame":
        """The table as the copy holds it, so that a run that reads the copy sees the same."""
        return need("pandas", "tables", "reading a table").read_parquet(io.BytesIO(self.content))

    def fingerprint(self) -> "Fingerprint":
        """That of the copy."""
        from cutaway.data.fingerprints import fingerprint_bytes

        return fingerprint_bytes(self.content)

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)


def as_parquet(frame: "pandas.DataFrame") -> bytes:
    """A table as a Parquet file; a column that cannot be stored is named."""
    need("pyarrow", "tables", "keeping a copy of a table in memory")
    twice = frame.columns[frame.columns.astype(str).duplicated()]
    if len(twice):
        raise ValueError(f"columns must have different names, got {str(twice[0])!r} twice; rename one of them")
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    try:
        return bytes(frame.to_parquet(index=False))
    except (ValueError, TypeError, NotImplementedError) as whole:
        for name in frame.columns:
            try:
                frame[[name]].to_parquet(index=False)
            except (ValueError, TypeError, NotImplementedError) as error:
                raise ValueError(
                    f"a run keeps a copy of its table, got the column {name!r} of type {frame[name].dtype}, which "
                    f"cannot be stored ({' '.join(str(error).split())}); convert it, for instance with .astype(str)"
                ) from error
        raise ValueError(f"a run keeps a copy of its table, got one that cannot be stored ({whole})") from whole


__all__ = ["STORED", "TableInMemory", "as_parquet"]
