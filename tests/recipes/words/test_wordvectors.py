"""The recipe for word vectors: it learns what stands together, through the ordinary run folder."""

import numpy as np
import pytest
from killing import expect_same_after_death

import cutaway as cut
from cutaway.recipes.words.wordvectors import WordVectorsRecipe

SMALL = dict(
    width=12, passes=4.0, steps=8, min_count=2, window=3, sample=0.0, evaluate_every=4, checkpoint_every=4, show="quiet"
)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Animals sleep and eat, numbers add and count: two circles of words that never meet."""
    rng = np.random.default_rng(0)
    circles = (["cat", "dog", "horse", "eats", "sleeps"], ["one", "two", "three", "plus", "counts"])
    lines = [" ".join(rng.choice(circles[i % 2], 12)) for i in range(600)]
    path = tmp_path_factory.mktemp("words") / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True, scope="module")
def _no_reports():
    """Pages take longer than these runs; tests/runs/views/test_words.py draws one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cutaway.runs.execution._report", lambda run: None)
        yield


@pytest.fixture(scope="module")
def run(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "words"
    return cut.train("wordvectors", data=str(text), out=out, subwords=200, **SMALL | dict(passes=10.0))


def test_words_that_stand_together_are_near(run):
    animals = {"cat", "dog", "horse", "eats", "sleeps"}
    assert {word for word, _ in run.nearest("cat", k=4)} == animals - {"cat"}
    assert run.nearest("one", k=1)[0][0] not in animals
    rows = [row for row in run.metrics if row["split"] == "validation"]
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[-1]["loss"] < run.about["data"]["baseline"]["metrics"]["loss"]


def test_analogies_and_words_never_seen(run):
    listed = run.nearest(["cat", "two"], negative=["dog"], k=3)
    assert run.nearest("cat - dog + two", k=3) == listed
    assert not {"cat", "two", "dog"} & {word for word, _ in listed}
    assert len(run.nearest("cats", k=2)) == 2  # from its pieces


def test_loaded_again_it_is_the_same(run):
    again = cut.load(run.path)
    assert again.nearest("dog", k=3) == run.nearest("dog", k=3)
    assert again.nearest("dog", k=3, approximate=True) == [
        (word, pytest.approx(score, abs=1e-5)) for word, score in run.nearest("dog", k=3)
    ]
    assert set(run.test()) == {"loss"}


@pytest.mark.parametrize(
    "settings", [dict(method="skip-gram"), dict(context="mean"), dict(output="hierarchical", steps=8)]
)
def test_ways_to_learn(text, tmp_path, settings):
    run = cut.train("wordvectors", data=str(text), out=tmp_path / "run", **SMALL | settings)
    rows = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert rows[-1] < rows[0]


@pytest.mark.parametrize("output", ["full", "sampled", "nce"])
def test_every_output_layer_learns_the_two_circles(text, tmp_path, output):
    settings = SMALL | dict(output=output, passes=20.0, steps=60, rate=0.05)
    run = cut.train("wordvectors", data=str(text), out=tmp_path / "run", **settings)
    assert {word for word, _ in run.nearest("cat", k=3)} < {"dog", "horse", "eats", "sleeps"}


def test_killed_and_resumed_it_ends_with_the_same_weights(text, tmp_path):
    expect_same_after_death(tmp_path, "wordvectors", SMALL | {"data": str(text)}, "before the first line of the log")


def test_similarity_and_analogies_are_scored_where_files_are_given(text, tmp_path):
    (tmp_path / "pairs.tsv").write_text("cat\tdog\t9\ncat\tone\t1\ntwo\tthree\t8\nhorse\tplus\t2\nox\tcat\t5\n")
    (tmp_path / "questions.txt").write_text(": circles\ncat dog one two\n")
    settings = SMALL | dict(similarity=str(tmp_path / "pairs.tsv"), analogies=str(tmp_path / "questions.txt"))
    run = cut.train("wordvectors", data=str(text), out=tmp_path / "run", **settings)
    metrics = run.test()
    assert metrics["similarity"] > 0.5
    assert run.metrics[-1]["similarity"] == metrics["similarity"]  # in the report too
    assert (metrics["similarity_pairs"], metrics["analogy_questions"]) == (4, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(passes=0.0), "passes must be above 0"),
        (dict(accumulate=2), "one batch after another, got accumulate=2"),
        (dict(window=0), "window must be at least 1"),
        (dict(sample=1.0), "sample must be from 0 to below 1"),
        (dict(patience=3, validation=0.0), "patience needs text"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        WordVectorsRecipe(**settings)


def test_other_outputs_have_other_defaults():
    assert WordVectorsRecipe().settled(None).rate == 0.05
    assert WordVectorsRecipe(output="full").settled(None).rate == 5e-3
    assert WordVectorsRecipe(output="full", rate=0.1).settled(None).rate == 0.1


def test_a_text_of_too_few_words_is_told(tmp_path):
    (tmp_path / "short.txt").write_text("a few words")
    with pytest.raises(ValueError, match="seen min_count=5 times, got 0"):
        cut.train("wordvectors", data=str(tmp_path / "short.txt"), out=tmp_path / "run", show="quiet")


def test_a_missing_file_of_ratings_is_told_before_training(text, tmp_path):
    with pytest.raises(ValueError, match="nofile"):
        cut.train("wordvectors", data=str(text), out=tmp_path / "run", similarity=str(tmp_path / "nofile.tsv"), **SMALL)
    assert not (tmp_path / "run" / "model.safetensors").exists()


@pytest.mark.slow
def test_text8_reaches_the_stated_quality(data_folder, tmp_path):
    """One seed; over three, the means are .434, .200 and 6.4 % (benchmarks/README.md)."""
    tests = data_folder / "text" / "word_eval"
    settings = dict(passes=5.0, validation=0.0, test=0.02, similarity=str(tests / "wordsim353.tsv"), show="quiet")
    run = cut.train(
        "wordvectors",
        data=str(data_folder / "text" / "text8_first10MB.txt.xz"),
        analogies=str(tests / "questions-words.txt.xz"),
        out=tmp_path / "run",
        **settings,
    )
    metrics = run.test()
    assert metrics["similarity"] > 0.39
    assert metrics["analogies"] > 0.05
    assert {"three", "four"} & {word for word, _ in run.nearest("two", k=5)}
