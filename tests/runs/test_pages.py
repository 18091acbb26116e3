"""Pages of runs: the pictures that suit each kind, and any value at its address."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from little import SETTINGS, little_text
from look.rendered import expect_self_contained, rows_of

import cutaway as cut
from cutaway import registry
from cutaway.look import Picture
from cutaway.recipes import Recipe, Subject, index
from cutaway.runs import look_page, report_run
from cutaway.runs.pages import make_page
from cutaway.runs.run import Run
from cutaway.tasks.subjects import subject_of
from cutaway.training.run_folder.folder import RunFolder

QUICK: dict[str, Any] = dict(steps=2, evaluate_every=2, checkpoint_every=2, warmup=0, show="quiet")
SMALL: dict[str, Any] = dict(width=16, depth=2, heads=2, context=24, batch=4, **QUICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("looking")


@pytest.fixture(scope="module")
def gpt(folder: Path) -> Run:
    settings = SETTINGS | dict(depth=2, design="gpt2")
    return cut.train("gpt", data=little_text(folder), out=folder / "gpt", show="quiet", **settings)


def sources(run: Run, subject: Subject | None = None) -> list[str]:
    _, placed = make_page(run, subject_of(run) if subject is None else subject)
    return list(dict.fromkeys(one.source for one in placed))


@pytest.mark.parametrize("name", ["lstm", "markov"])
def test_other_language_models(name: str, folder: Path):
    sizes = dict(width=12, embedding=6, context=16, batch=4) if name == "lstm" else dict(order=2, context=16, batch=4)
    run = cut.train(name, data=little_text(folder), out=folder / name, **sizes, **QUICK)
    _, placed = make_page(run, subject_of(run, "the dog ate the cat"))
    pictures = {one.source: one.picture for one in placed}
    assert {"losses", "surprise"} <= set(pictures)
    values = [row["value"] for row in rows_of(pictures["surprise"])]
    tokens = torch.from_numpy(run.tokenizer.encode("the dog ate the cat"))[None]
    torch.testing.assert_close(torch.tensor(values), -cut.models.log_probabilities(run.model, tokens)[0].detach())
    average = f"{sum(values) / len(values):.2f} nats a token on average, after 't', which is given."
    assert pictures["surprise"].note.startswith(average)


@pytest.mark.long
def test_a_gpt(gpt: Run):
    page, placed = make_page(gpt, gpt.recipe.subject(gpt))
    found = [one.source for one in placed]
    assert {"losses", "attention", "heads", "rollout", "lens", "contributions", "saliency", "tokens"} <= set(found)
    assert {"token_neighbours", "positions", "weights", "graph"} <= set(found)
    html = expect_self_contained(page.to_html(), charts=sum(one.picture.is_chart for one in placed))
    assert "The beginning of the validation text." in html.text
    assert "A run of the recipe gpt on" in html.text
    sections = [one.section for one in placed]
    assert sections == sorted(sections, key=sections.index)  # none is torn apart
    assert len({one.picture.title for one in placed}) == len(placed)


def test_a_page_reads_the_tokenizer_once(gpt: Run, monkeypatch: pytest.MonkeyPatch):
    from cutaway.data.text import tokenizers

    read = []
    parse = tokenizers.parse_tokenizer
    monkeypatch.setattr(tokenizers, "parse_tokenizer", lambda content: read.append(len(content)) or parse(content))
    run = cut.load(gpt.path)
    make_page(run, subject_of(run, "the dog"))
    assert len(read) == 1


def test_a_text_of_ones_own_is_what_goes_in(gpt: Run):
    subject = gpt.recipe.subject(gpt, "the dog ate the cake and the cat")
    assert "".join(subject.tokens) == "the dog ate the "  # as much as the context of 16 holds
    assert subject.words == "the first 16 of 32 tokens of your text"
    weights = subject.read(gpt.model, "blocks.0.attention.weights")["blocks.0.attention.weights"]
    with torch.no_grad(), cut.trace(gpt.model, "blocks.0.attention.weights") as seen:
        gpt.model(torch.from_numpy(gpt.tokenizer.encode("the dog ate the "))[None])
    assert torch.equal(weights, seen["blocks.0.attention.weights"])
    with pytest.raises(ValueError, match="a text to look at must have a token, got none"):
        gpt.recipe.subject(gpt, "")


def test_a_value_at_its_address(gpt: Run):
    page = look_page(gpt, "the dog", at="blocks.*.attention.weights")
    html = page.to_html()
    assert page.title == "blocks.*.attention.weights in gpt"
    assert html.count("blocks.1.attention.weights, head 1") > 0
    assert "<dt>shape</dt><dd>1 × 2 × 7 × 7</dd>" in html
    _, placed = make_page(gpt, gpt.recipe.subject(gpt, "the dog"), "blocks.0.mlp.hidden")
    (one,) = placed
    assert one.picture.alt.startswith("Heat map of value: 7 × 64 (token × unit)")
    values = gpt.recipe.subject(gpt, "the dog").read(gpt.model, "blocks.0.mlp.hidden")["blocks.0.mlp.hidden"]
    assert [row["values"] for row in rows_of(one.picture)] == [
        pytest.approx(line, rel=1e-4, abs=1e-6) for line in values[0].tolist()
    ]


def test_wrong_addresses(gpt: Run):
    with pytest.raises(ValueError, match=r"got 'blocks.0.mlp.hiden'; the nearest known are: blocks.0.mlp.hidden"):
        look_page(gpt, "the", at="blocks.0.mlp.hiden")
    with pytest.raises(ValueError, match=r"one page shows at most 24 addresses, got \d+ through '\*\*'; name fewer"):
        look_page(gpt, "the", at="**")


@pytest.mark.long
def test_a_recurrent_net(folder: Path):
    """Gates of every layer, the units that follow the text, how far back the output reaches; in the report too."""
    settings = {name: x for name, x in SETTINGS.items() if name != "heads"} | dict(width=12, depth=2, embedding=5)
    run = cut.train("gru", data=little_text(folder), out=folder / "gru", show="quiet", **settings)
    _, placed = make_page(run, subject_of(run, "the dog ate the cake"))
    titles = [one.picture.title for one in placed]
    assert [f"Gates and states over time, layer {i}" for i in (0, 1)] == [t for t in titles if t.startswith("Gates")]
    assert "What single units follow" in titles
    assert any(title.startswith("How far back") for title in titles)
    gates = next(one.picture for one in placed if one.picture.title.startswith("Gates"))
    assert [row["unit"] for row in gates.spec()["datasets"]["panel0"]] == list(range(12))
    assert "reset gate" in gates.alt
    report = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Gates and states over time" in report
    assert "What single units follow" in report


def test_a_bert(folder: Path):
    run = cut.train("bert", data=little_text(folder), tokenizer="characters", out=folder / "bert", **SMALL)
    assert {"attention", "heads", "rollout", "tokens", "positions"} <= set(sources(run))
    assert "lens" not in sources(run)
    subject = subject_of(run, "the d[MASK]g")
    assert subject.tokens == ("[CLS]", "t", "h", "e", " ", "d", "[MASK]", "g", "[SEP]")


@pytest.mark.long
def test_a_transformer(folder: Path):
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"the cat {i}\tdie Katze {i}\n" for i in range(60)), encoding="utf-8")
    run = cut.train("transformer", data=str(pairs), tokenizer="bpe-400", validation=0.1, out=folder / "tr", **SMALL)
    page, placed = make_page(run, subject_of(run))
    grids = [one.picture.title for one in placed if one.source == "attention"]
    assert [title.split(":")[0] for title in grids] == [
        "Within the source",
        "Within what is written",
        "From what is written to the source",
    ]
    assert "Given to the decoder" in page.to_html()
    own = subject_of(run, "the cat 7")
    assert "".join(own.tokens) == "the cat 7"
    assert own.words == "your text, and what the model makes of it"
    (_, *maps) = make_page(run, own, "decoder.0.cross.weights")[1]
    assert maps[0].picture.alt.startswith(f"Heat map of weight: {len(own.written)} × {len(own.tokens)}")


def test_an_imported_checkpoint(gpt: Run, folder: Path):
    cut.save_pretrained(gpt.model, folder / "checkpoint")
    gpt.tokenizer.save(folder / "checkpoint" / "tokenizer.json")
    run = cut.runs.import_checkpoint(str(folder / "checkpoint"), str(folder / "imported"))
    subject = subject_of(run, "the dog")
    assert (subject.words, subject.tokens) == ("your text", tuple("the dog"))
    names = {view.name for view in registry.views() if view.fits(run)}
    assert {"attention", "lens", "tokens", "weights"} <= names
    assert "losses" not in names  # it was not trained here


@dataclass(frozen=True)
class Blank(Recipe):
    """A recipe that says nothing of what to look at."""

    name: ClassVar[str] = "blank"

    def open_model(self, config: dict[str, Any]) -> torch.nn.Module:
        return torch.nn.Linear(3, 2)


@pytest.fixture
def blank(tmp_path: Path) -> Iterator[Run]:
    """A run of a recipe of one's own, without tokens or tables, and the registry as it was afterwards."""
    registry.views()  # ours are there already
    known, own = dict(registry._views), dict(index._own)
    cut.register(Blank)
    folder = RunFolder.create(tmp_path / "blank")
    folder.write_weights(dict(torch.nn.Linear(3, 2).state_dict()))
    about = {"recipe": "blank", "config": Blank(data="nothing").to_dict(), "spec": None, "data": {}}
    folder.write_config(about | {"threads": 1, "torch": torch.__version__})
    folder.release()
    yield cut.load(tmp_path / "blank")
    for kept, before in ((registry._views, known), (index._own, own)):
        kept.clear()
        kept.update(before)


def test_a_recipe_of_ones_own_shows_what_it_can(blank: Run):
    assert sources(blank) == ["weights"]
    with pytest.raises(
        ValueError, match="for runs that say what to make of it, got one for a run of 'blank'; leave it"
    ):
        blank.recipe.subject(blank, "words")
    with pytest.raises(ValueError, match="needs an input to be looked at, got none for a run of 'blank'"):
        make_page(blank, blank.recipe.subject(blank), "input")


def test_a_registered_view_is_on_the_page(blank: Run):
    def square(run: Any, subject: Subject) -> Picture:
        """A square."""
        return Picture("<svg></svg>", f"The square of {run.recipe.name}", "A square.")

    cut.register(square, suits="blank", section="Shapes")
    page, placed = make_page(blank, Subject())
    assert [(one.source, one.section) for one in placed] == [("weights", "Weights"), ("square", "Shapes")]
    assert "The square of blank" in page.to_html()


def test_a_missing_extra_costs_one_picture(blank: Run):
    def needy(run: Any, subject: Subject) -> Picture:
        """A map."""
        raise ModuleNotFoundError(
            "a map needs maps, which is not installed; run pip install 'cutaway[maps]'", name="maps"
        )

    cut.register(needy, suits="blank")
    page, placed = make_page(blank, Subject())
    assert [one.source for one in placed] == ["weights"]
    assert "A map: a map needs maps, which is not installed" in page.to_html()


def test_a_view_that_cannot_draw_says_why_and_the_rest_stands(blank: Run):
    def unable(run: Any, subject: Subject) -> Picture:
        """A curve."""
        raise ValueError("a curve needs two points, got 1; train longer")

    cut.register(unable, suits="blank", report=True)
    page, placed = make_page(blank, Subject())
    assert [one.source for one in placed] == ["weights"]
    assert "A curve: a curve needs two points, got 1; train longer." in page.to_html()
    assert "A curve: a curve needs two points" in report_run(blank).read_text(encoding="utf-8")


def test_every_picture_has_a_sentence_on_what_to_see(gpt: Run):
    _, drawn = make_page(gpt, gpt.recipe.subject(gpt))
    assert len(drawn) > 8
    for one in drawn:
        assert one.picture.caption.endswith("."), f"{one.source}: {one.picture.title}"
