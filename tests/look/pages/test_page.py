"""Pages: one file, everything escaped, everything in its place."""

import pytest
from look.rendered import Tags, expect_self_contained

from cutaway.look import Facts, Folded, Page, Picture, Sample, Section, Table, heatmap

EVIL = '<script>alert("1")</script>&amp;</pre><!--'


def test_a_page_with_everything():
    picture = heatmap([[1.0, 2.0], [3.0, 4.0]], title="Four numbers")
    page = Page(
        "Title",
        "Lead.",
        [
            Section("Pictures", [picture, picture, "A paragraph."]),
            Section("Tables", [Table(["name", "loss"], [("a", 1.5), ("b", None)], "Losses"), Facts({"steps": 1000})]),
            Section("Samples", [Sample("  kept\n\tas it is ", "Step 1")]),
        ],
        {"parameters": 12345},
    )
    found = expect_self_contained(page.to_html(), charts=2)
    assert [text for text in ("Lead.", "A paragraph.", "Losses", "1,000", "12,345") if text not in found.text] == []
    assert "  kept\n\tas it is " in found.text
    assert len(found.all("h2")) == 3
    assert found.all("td") == [{"class": "number"}, {"class": "number"}]
    assert [a["scope"] for a in found.all("th")] == ["col", "col", "row", "row"]


def test_without_charts_there_is_no_script():
    html = Page("Small", sections=[Section("", ["Words."])]).to_html()
    assert expect_self_contained(html, charts=0).scripts == []
    assert len(html) < 10_000


def test_a_page_with_a_chart_stays_small():
    assert len(heatmap([[1.0]]).to_html().encode()) < 2_000_000


def test_everything_is_escaped():
    picture = Picture(
        heatmap([[1.0]], [EVIL], [EVIL])._chart, EVIL, EVIL, EVIL, data=[{"row": 0, "values": [1], "x": EVIL}]
    )
    parts = [
        EVIL,
        picture,
        Table([EVIL], [(EVIL,)], EVIL),
        Sample(EVIL, EVIL),
        Facts({EVIL: EVIL}),
        Folded(EVIL, [EVIL]),
    ]
    html = Page(EVIL, EVIL, [Section(EVIL, parts)]).to_html()
    found = expect_self_contained(html, charts=1)
    assert not any('alert("1")' in text for kind, text in found.scripts if kind.get("type") != "application/json")
    assert '<script>alert("1")' not in html
    assert found.text.count('alert("1")') == 16  # the title twice, and each place once
    assert len(found.scripts) == 3  # the chart, the runtime, the few lines that start it


def test_a_sample_keeps_its_first_newline():
    html = Page("x", sections=[Section("", [Sample("\nfirst")])]).to_html()
    assert "<pre>\n\nfirst</pre>" in html  # a browser drops one


def test_light_dark_and_print():
    html = Page("x").to_html()
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert "color-scheme: light dark" in html


def test_saving(tmp_path):
    path = Page("x", "Grüße, 日本 \ud800").save(tmp_path / "folder" / "page.html")
    assert "Grüße, 日本 \ufffd" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]


def test_charts_inside_folds_are_drawn_too():
    html = Page("x", sections=[Section("", [Folded("More", [heatmap([[1.0]])]), heatmap([[2.0]])])]).to_html()
    found = expect_self_contained(html, charts=2)
    assert len(found.all("details")) == len(found.all("summary")) == 1


def test_jupyter_gets_a_frame():
    page = Page("A & B", sections=[Section("", [heatmap([[1.0]])])])
    (frame,) = Tags(page._repr_html_()).all("iframe")
    assert frame["title"] == "A & B"
    assert frame["srcdoc"] == page.to_html()


def test_rows_must_fit_their_columns():
    with pytest.raises(ValueError, match=r"a cell for each of the 2 columns, got 1: \['a'\]; fill it up with ''"):
        Table(["x", "y"], [("a",)])
