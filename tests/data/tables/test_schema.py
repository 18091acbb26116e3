"""What a table is, shown before training."""

from cutaway.data.tables.schema import Column, Schema


def test_what_a_column_is_like():
    number = Column("x", "number", mean=2.0, low=1.0, high=3.0, format="1.234,56", reason="'1.234' is read as 1234")
    assert number.about() == "1 to 3, mean 2, std 1, written 1.234,56; '1.234' is read as 1234"
    assert Column("x", "category", categories=("a", "b"), reason="codes").about() == "2: a, b; codes"
    assert Column("x", "ignored", reason="constant: 7").about() == "constant: 7"
    assert Column("x", "date", high=31.0, format="%Y").about() == "1970-01-01 to 1970-02-01, written %Y"


def test_wide_tables_are_summed_up():
    columns = [Column(f"c{i}", "number") for i in range(9990)]
    columns += [Column("noted", "category", categories=("007",), reason="codes such as '007', kept as written")]
    columns += [Column("mixed", "ignored", reason="numbers written in two ways ('1,5' in row 1, '1.5' in row 2)")]
    columns += [Column(f"empty{i}", "ignored", reason="only missing values") for i in range(8)]
    target = (Column("y", "category"),)
    lines = str(Schema(tuple(columns), target, "binary", ("a", "b"), counts=(9, 1), rows_counted=10)).splitlines()
    assert len(lines) == 15
    assert [line.split()[0] for line in lines] == [
        "column",
        *(f"c{i}" for i in range(10)),
        "noted",
        "mixed",
        "...",
        "y",
    ]
    assert lines[-2].split("  ")[0] == "... 9,988 more"
    assert lines[-2].endswith("in all 10,000: 9,990 number, 1 category, 9 ignored")
    assert lines[-1].endswith("binary, 2: a 90.0%, b 10.0%")


def test_names_with_line_breaks_are_shown_in_a_line():
    shown = str(Schema((Column("a\nb", "number"),), (Column("y", "number"),), "regression"))
    assert shown.splitlines()[1].startswith("a b")


def test_schemas_of_before_are_read():
    """A schema.json without counts and formats of numbers."""
    whole = Schema((Column("x", "number"),), (Column("y", "category"),), "binary", ("a", "b"), counts=(3, 1)).to_dict()
    del whole["counts"], whole["rows_counted"]
    assert Schema.from_dict(whole).counts == ()
