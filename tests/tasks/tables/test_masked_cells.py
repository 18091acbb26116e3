"""Restored cells: batches as functions of the step, costs by hand, and what a column can be restored from."""

import numpy as np
import pytest
import torch

from cutaway.data.tables.cells import Cells
from cutaway.models.cells import CellNet
from cutaway.tasks.tables.masked_cells import (
    CellBatches,
    HiddenCells,
    column_scores,
    hidden_cost,
    hidden_metrics,
    naive_loss,
    outcome_frequencies,
    scores_of,
    summary_metrics,
)


def cells(rows: int = 50) -> Cells:
    draw = np.random.default_rng(0)
    known = draw.random((rows, 3)) > 0.1
    return Cells(draw.normal(size=(rows, 1)).astype(np.float32), draw.integers(0, 3, (rows, 2)), known)


def little() -> CellNet:
    torch.manual_seed(0)
    model = CellNet(inputs=(1,), bins=(4,), cardinalities=(3, 3), width=5, depth=1, cell=3, dropout=0.0)
    values = torch.from_numpy(cells().numbers[:, 0])
    model.bins.set_bins([values], [torch.tensor([-0.7, 0.0, 0.7])])
    return model


def test_batches_are_functions_of_the_step_and_shares_make_the_whole():
    table = cells()
    one, other = CellBatches(table, 0.4, 8, seed=3), CellBatches(table, 0.4, 8, seed=3)
    list(zip(range(5), one))
    assert all(np.array_equal(a, b) for a, b in zip(one.at(7).cells[:3], other.at(7).cells[:3], strict=True))
    assert np.array_equal(one.at(7).hidden, other.at(7).hidden)
    assert not np.array_equal(one.at(7).hidden, one.at(8).hidden)
    shares = [CellBatches(table, 0.4, 8, 3, rank, 2).at(7) for rank in (0, 1)]
    assert np.array_equal(np.concatenate([share.hidden for share in shares]), one.at(7).hidden)
    assert np.array_equal(np.concatenate([share.cells.numbers for share in shares]), one.at(7).cells.numbers)
    assert np.mean([one.at(step).hidden.mean() for step in range(200)]) == pytest.approx(0.4, abs=0.02)


def test_the_cost_by_hand():
    model, table = little(), cells(6)
    hidden = np.zeros((6, 3), bool)
    hidden[0, 0] = hidden[2, 1] = hidden[2, 2] = hidden[3, 2] = True
    table = table._replace(known=np.ones((6, 3), bool))
    table.known[3, 2] = False  # missing: hidden, but not asked for
    scores = scores_of(model, table, hidden).split([4, 3, 3], 1)
    number = int(torch.bucketize(torch.tensor(table.numbers[0, 0]), torch.tensor([-0.7, 0.0, 0.7]), right=True))
    losses = [
        -scores[0][0].log_softmax(0)[number],
        -scores[1][2].log_softmax(0)[table.categories[2, 0]],
        -scores[2][2].log_softmax(0)[table.categories[2, 1]],
    ]
    want = torch.stack(losses).mean()
    torch.testing.assert_close(hidden_cost(model, HiddenCells(table, hidden)), want)


def test_what_is_hidden_cannot_be_seen():
    model, table = little(), cells(20)
    hidden = np.zeros((20, 3), bool)
    hidden[:, [0, 2]] = True
    other = table._replace(numbers=table.numbers + 5, categories=table.categories.copy())
    other.categories[:, 1] = 0
    torch.testing.assert_close(scores_of(model, table, hidden), scores_of(model, other, hidden))


def test_naive_answers_are_the_frequencies_of_training():
    model, table = little(), cells(50)
    frequencies = outcome_frequencies(model, table)
    counts = np.bincount(table.categories[table.known[:, 1], 0], minlength=3) + 0.5
    np.testing.assert_allclose(frequencies[1].numpy(), counts / counts.sum())
    scores = column_scores(model, table, frequencies)
    assert scores[1].naive_quality == pytest.approx(
        np.bincount(table.categories[table.known[:, 1], 0]).max() / table.known[:, 1].sum()
    )
    assert abs(scores[0].naive_quality) < 0.05  # the mean of the bins has an R² of about 0
    assert scores[1].told == pytest.approx(1 - scores[1].loss / scores[1].naive_loss)
    found = summary_metrics(scores, 1)
    assert found["accuracy"] == pytest.approx((scores[1].quality + scores[2].quality) / 2)
    assert found["r2"] == scores[0].quality
    assert summary_metrics(scores, 1, naive=True)["accuracy"] > 0.3
    assert naive_loss(model, table, frequencies, 0.5) < np.log(4)


def test_a_model_of_zeros_knows_nothing():
    model, table = little(), cells()
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    share = hidden_metrics(model, table, 0.5)["loss"]
    assert np.log(3) <= share <= np.log(4)


def test_a_column_without_a_known_cell_has_no_score():
    model, table = little(), cells()
    table.known[:, 2] = False
    assert column_scores(model, table, outcome_frequencies(model, cells()))[2] is None
