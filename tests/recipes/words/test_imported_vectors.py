"""Vectors of elsewhere as a run: in by import, asked, and out by export."""

import numpy as np
import pytest

import cutaway as cut
from cutaway.data.text.vector_files import read_vectors, write_vectors
from cutaway.runs.checkpoints_in_and_out import export_run, import_checkpoint

WORDS = ["king", "man", "woman", "queen", "apple"]
MATRIX = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [-1, 0.3, 0.2]], np.float32)


@pytest.fixture
def run(tmp_path):
    return import_checkpoint(
        str(write_vectors(tmp_path / "glove.txt", WORDS, MATRIX, header=False)), str(tmp_path / "run")
    )


def test_in_and_out(run, tmp_path):
    assert run.nearest("king - man + woman", k=1)[0][0] == "queen"
    again = read_vectors(export_run(str(run.path), str(tmp_path / "v.bin")))
    assert again.words == WORDS
    assert np.array_equal(again.matrix, MATRIX)
    with pytest.raises(ValueError, match=r"a new file, got .*which is there"):
        export_run(str(run.path), str(tmp_path / "v.bin"))
    with pytest.raises(ValueError, match=r"written as \.txt"):
        export_run(str(run.path), str(tmp_path / "folder"))


def test_it_is_no_run_to_train_or_to_test(run):
    with pytest.raises(ValueError, match="cannot be tested"):
        run.test()
    with pytest.raises(ValueError, match="cannot be resumed"):
        cut.train("imported-vectors", out=run.path, resume=True)
