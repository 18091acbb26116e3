"""Language models that go on learning."""

from pathlib import Path

import pytest
from tiny_bases import GOOD, OTHERS, tiny_bert, tiny_gpt

import cutaway as cut
from cutaway.models import HeadSpec

QUICK = dict(show="quiet", context=16, batch=4, epochs=3, validation=0.1, test=0.1, sample_tokens=3, evaluate_every=25)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    tiny_gpt(folder / "gpt")
    tiny_gpt(folder / "llama", llama=True)
    tiny_bert(folder / "bert", head=HeadSpec("masked"))
    tiny_bert(folder / "bare")
    (folder / "text.txt").write_text(" ".join([*OTHERS, *GOOD] * 60))
    return folder


@pytest.mark.parametrize("base", ["gpt", "llama", "bert"])
def test_it_goes_on_learning(place: Path, base: str):
    run = cut.tune(place / base, data=place / "text.txt", lora=4, rate=3e-2, out=place / f"run-{base}", **QUICK)
    rows = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert run.recipe.name == "tuned-language"
    assert min(rows) < rows[0] - (0.02 if base == "bert" else 0.1)
    assert run.test()["loss"] < rows[0]
    again = cut.load(run.path)
    if base == "bert":
        assert len(again.predict("the [MASK] was so")) == 5
    else:
        assert again.generate("the film", tokens=3, temperature=0)
        with pytest.raises(ValueError, match=r"a model of next tokens writes"):
            again.predict("the film")


def test_what_cannot_go_on_is_told(place: Path):
    with pytest.raises(ValueError, match=r"needs a head for tokens, next or masked, got .*bare without one"):
        cut.tune(place / "bare", data=place / "text.txt")
    with pytest.raises(
        ValueError, match=r"head_only is for tasks with a head of their own, got it for the task 'language'"
    ):
        cut.tune(place / "gpt", data=place / "text.txt", head_only=True)
