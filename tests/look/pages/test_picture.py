"""One picture in every place where it is looked at."""

import json
from xml.etree import ElementTree

import altair as alt
import pytest
from look.rendered import expect_drawn, expect_self_contained, image_of, words_of

from cutaway.look import Picture

ROWS = [{"x": i, "y": i * i, "kind": "ab"[i % 2]} for i in range(6)]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="red"/></svg>'


def chart(**look: object) -> Picture:
    marks = alt.Chart(alt.NamedData("rows")).mark_point().encode(x="x:Q", y="y:Q", color="kind:N")
    return Picture(marks, "Squares", "Points on a parabola.", data=ROWS, **look)


def test_a_chart_renders():
    expect_drawn(chart(note="Every second one is another kind."))


def test_title_and_note_are_in_the_image_and_around_it_in_a_page():
    picture = chart(note="A note that is long enough to be broken into two lines of the image, as it must be, surely.")
    shown = words_of(picture)
    assert "Squares" in shown
    assert picture.note in shown  # as two lines of one text
    page = expect_self_contained(picture.to_html(), charts=1)
    assert picture.note in page.text
    assert "title" not in picture.spec(titled=False)


def test_light_and_dark_grounds():
    light, dark = (image_of(chart().to_png(scale=1, dark=d)).getpixel((0, 0)) for d in (False, True))
    assert light == (255, 255, 255, 255)
    assert sum(dark[:3]) < 120


def test_scale_is_pixels_a_unit():
    one, three = (image_of(chart().to_png(scale=s)).size for s in (1, 3))
    assert three == tuple(3 * n for n in one)
    with pytest.raises(ValueError, match="scale must be above 0, got 0; try scale=2"):
        chart().to_png(scale=0)


def test_colours_are_ours():
    svg = chart().to_svg()
    assert "#0072B2" in svg
    assert "#D55E00" in svg


def test_settings_of_a_chart_win_over_ours():
    marks = alt.Chart(alt.NamedData("rows")).mark_point().encode(x="x:Q", y="y:Q").configure_axis(labelFontSize=33)
    config = Picture(marks, "t", "a", data=ROWS).spec()["config"]
    assert config["axis"]["labelFontSize"] == 33
    assert config["axis"]["titleFontSize"] == 12


def test_json_holds_all_and_no_nan():
    rows = [{"x": float("nan"), "y": float("inf")}, {"x": 1 / 3, "y": 2}]
    spec = json.loads(Picture(chart()._chart, "t", "a", data=rows).to_json())
    assert spec["datasets"]["rows"] == [{"x": None, "y": None}, {"x": 0.333333, "y": 2}]
    assert spec["description"] == "a"


def test_a_dictionary_without_a_schema_is_a_chart_too():
    spec = {"mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}, "data": {"name": "rows"}}
    expect_drawn(Picture(spec, "Dictionary", "Points.", data=ROWS))


def test_words_that_cannot_be_written_are_marked():
    marks = alt.Chart(alt.NamedData("rows")).mark_text().encode(text="x:N")
    picture = Picture(marks, "a\x00b\ud800", "c\x1bd", data=[{"x": "half \ud800 pair"}])
    assert picture.title == "a\ufffdb\ufffd"
    ElementTree.fromstring(picture.to_svg())
    expect_self_contained(picture.to_html(), charts=1).text.encode()


@pytest.mark.parametrize("suffix", ["html", "png", "svg", "json"])
def test_saving(tmp_path, suffix: str):
    path = chart().save(tmp_path / f"squares.{suffix}")
    begin = {"html": b"<!DOCTYPE", "png": b"\x89PNG", "svg": b"<svg ", "json": b"{"}[suffix]
    assert path.read_bytes().startswith(begin)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_saving_as_something_else(tmp_path):
    with pytest.raises(ValueError, match=r"a picture is saved as .html, .png, .svg or .json, got 'x.jpg'; choose one"):
        chart().save(tmp_path / "x.jpg")


def test_jupyter_gets_the_chart_an_image_and_words():
    bundle = chart()._repr_mimebundle_()
    (live,) = [kind for kind in bundle if kind.startswith("application/vnd.vegalite.v")]
    assert bundle[live]["$schema"].startswith(f"https://vega.github.io/schema/vega-lite/v{live[26]}")
    assert bundle["image/svg+xml"].startswith("<svg ")
    assert bundle["text/plain"] == "Picture('Squares': Points on a parabola.)"


def test_our_own_svg(tmp_path):
    picture = Picture(SVG, "Red", "A red box.")
    assert image_of(picture.to_png(scale=2)).size == (40, 20)
    assert picture.to_svg() == SVG
    page = expect_self_contained(picture.to_html(), charts=0)
    assert {"class": "drawing", "role": "img", "aria-label": "A red box."} in page.all("div")
    assert picture._repr_mimebundle_()["text/html"] == SVG
    with pytest.raises(ValueError, match="a Vega-Lite specification needs a chart, got the markup of 'Red'"):
        picture.to_json()


def test_our_own_html():
    picture = Picture("<canvas></canvas>", "Canvas", "A canvas.")
    with pytest.raises(ValueError, match=r"PNG needs a chart or SVG, got the HTML of 'Canvas'; save it as .html"):
        picture.to_png()
    with pytest.raises(ValueError, match=r"SVG needs a chart or SVG, got the HTML of 'Canvas'; save it as .html"):
        picture.to_svg()
    assert "<canvas></canvas>" in picture.to_html()


def test_words_are_required():
    with pytest.raises(ValueError, match=r"needs a title and an alternative text .* got title='', alt='x'"):
        Picture(SVG, "", "x")
    with pytest.raises(ValueError, match="got title='x', alt=''; say in one sentence what it shows"):
        Picture(SVG, "x", "")
    with pytest.raises(ValueError, match=r"a picture is an Altair chart, .* got int; build one of these"):
        Picture(3, "x", "y")


def test_what_to_see_stands_under_the_picture_and_what_to_know_after_it():
    picture = Picture("<svg></svg>", "Loss", "A line.", "Of one run.", caption="It falls.")
    html = picture.fragment("p1")
    assert (
        html.index("<h3>Loss</h3>") < html.index("<svg>") < html.index("<b>It falls.</b>") < html.index("Of one run.")
    )
    other = picture.captioned("It rises.")
    assert (picture.caption, other.caption, other.title) == ("It falls.", "It rises.", "Loss")


def test_a_chart_that_fills_is_as_wide_as_its_column_in_a_page_only():
    from cutaway.look import curves

    picture = curves([{"step": i, "split": "train", "loss": 1 / i} for i in (1, 2, 3)])
    assert '"width":"container"' in picture.fragment("p1")
    assert picture.spec()["width"] == 560
