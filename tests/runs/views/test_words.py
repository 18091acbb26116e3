"""Views of words: of a run of imported vectors, by its own words and by given ones."""

import numpy as np
import pytest
from look.rendered import rows_of

import cutaway as cut
from cutaway.data.text.vector_files import write_vectors
from cutaway.runs.checkpoints_in_and_out import import_checkpoint
from cutaway.runs.pages import make_page
from cutaway.tasks.subjects import subject_of

WORDS = [f"animal{'abcdefghij'[i]}" for i in range(10)] + [f"number{'abcdefghij'[i]}" for i in range(10)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    rng = np.random.default_rng(0)
    matrix = np.repeat(np.eye(4)[:2], 10, 0) * 3 + rng.normal(size=(20, 4)) * 0.3
    path = write_vectors(folder / "v.txt", WORDS, matrix.astype(np.float32))
    return import_checkpoint(str(path), str(folder / "run"))


def test_the_page_has_the_views_of_words(run):
    _, placed = make_page(run, subject_of(run))
    pictures = {one.source: one.picture for one in placed}
    assert {"similar_words", "nearest_words", "frequent_words"} <= set(pictures)
    assert len({row["label"] for row in rows_of(pictures["frequent_words"])}) == 20
    assert all(picture.caption for picture in pictures.values())


def test_given_words_are_compared(run):
    subject = subject_of(run, "animala, animalb numbera")
    assert subject.tokens == ("animala", "animalb", "numbera")
    found = {one.source: one.picture for one in make_page(run, subject)[1]}
    values = [row["values"] for row in rows_of(found["similar_words"])]
    assert values[0][1] > 0.8 > values[0][2]
    near = [row for row in rows_of(found["nearest_words"]) if row["of"] == "numbera"]
    assert all(row["name"].startswith("number") for row in near)
    with pytest.raises(ValueError, match="did you mean 'animala'"):
        subject_of(run, "animalla")


def test_the_run_opens_again(run):
    assert cut.load(run.path).recipe.name == "imported-vectors"
