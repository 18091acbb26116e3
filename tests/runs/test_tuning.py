"""`cut.tune`: bases, and runs that go on."""

from pathlib import Path
from typing import Any

import pytest
from killing import expect_same_after_death
from tiny_bases import reviews, tiny_bert

import cutaway as cut

QUICK: dict[str, Any] = dict(show="quiet", epochs=2, batch=8, rate=3e-3)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tiny_bert(folder / "bert")
    reviews(folder / "reviews.csv")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("way", [{"full": True, "accumulate": 2}, {"head_only": True}, {"lora": 2}])
def test_killed_and_resumed_it_ends_with_the_same_weights(place: Path, tmp_path: Path, way: dict[str, Any]):
    settings = QUICK | way | {"base": str(place / "bert"), "data": str(place / "reviews.csv"), "checkpoint_every": 3}
    expect_same_after_death(tmp_path, "tuned-classify", settings)


def test_a_tuned_run_is_tuned_again(place: Path):
    first = cut.tune(place / "bert", data=place / "reviews.csv", full=True, out=place / "first", **QUICK)
    second = cut.tune(first, data=place / "reviews.csv", head_only=True, out=place / "second", **QUICK)
    assert second.about["data"]["base"]["path"] == str(place / "first")
    assert [row["accuracy"] for row in second.metrics if row["split"] == "validation"]


def test_what_is_missing_is_told(place: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=r"tuning needs a trained model, got none"):
        cut.tune(data="x.csv")
    with pytest.raises(ValueError, match=r"tuning needs data to learn from, got none"):
        cut.tune(place / "bert")
    with pytest.raises(ValueError, match=r"resuming needs the run's folder, got none"):
        cut.tune(resume=True)
    run = cut.train("markov", data="python-docs", out=tmp_path / "chain", show="quiet", steps=1)
    with pytest.raises(ValueError, match=r"tuning goes on with a tuned run, got .*chain, a run of 'markov'"):
        cut.tune(resume=True, out=run.path)
    with pytest.raises(ValueError, match=r"must be a model that can be tuned .* got .*chain"):
        cut.tune(run, data=place / "reviews.csv", task="classify")
