"""Tasks found from targets, and heads that train on real data to what scikit-learn reaches."""

import math
import re

import pytest
import sklearn.datasets
import sklearn.linear_model
import sklearn.metrics
import sklearn.multiclass
import torch
from torch.nn import functional as F

import cutaway as cut
from cutaway.blocks import Head, Task, cost, find_task

nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (torch.tensor([0.5, 1.5, -2.0]), Task("regression")),
        (torch.tensor([0.0, 1.0, 1.0]), Task("regression")),
        (torch.randn(5, 3), Task("regression", outputs=3)),
        (torch.tensor([True, False, True]), Task("binary", labels=(False, True))),
        (torch.tensor([0, 1, 1, 0]), Task("binary")),
        (torch.tensor([1, -1, -1]), Task("binary", labels=(-1, 1))),
        (torch.tensor([2, 1, 2], dtype=torch.uint8), Task("binary", labels=(1, 2))),
        (torch.tensor([0, 1, 2]), Task("multi-class", outputs=3)),
        (torch.tensor([0, 2, 4]), Task("multi-class", outputs=5)),
        (torch.tensor([[0, 1, 1], [0, 0, 0]]), Task("multi-label", outputs=3)),
        (torch.tensor([[True, True], [False, True]]), Task("multi-label", outputs=2)),
    ],
)
def test_tasks_are_found(targets, task):
    assert find_task(targets) == task


@pytest.mark.parametrize(
    ("targets", "kind", "task"),
    [
        (torch.tensor([0.0, 1.0, 1.0]), "binary", Task("binary")),
        (torch.tensor([0.0, 2.0, 1.0]), "multi-class", Task("multi-class", outputs=3)),
        (torch.tensor([0, 1, 1]), "multi-class", Task("multi-class", outputs=2)),
        (torch.tensor([False, True]), "multi-class", Task("multi-class", outputs=2)),
        (torch.tensor([0, 1, 7]), "regression", Task("regression")),
        (torch.eye(3), "multi-label", Task("multi-label", outputs=3)),
        (torch.eye(3).long(), "multi-label", Task("multi-label", outputs=3)),
    ],
)
def test_the_caller_may_say_the_kind(targets, kind, task):
    assert find_task(targets, kind) == task


def test_real_targets():
    """What the tables of scikit-learn are known to be."""
    kinds = {
        "load_diabetes": Task("regression"),
        "load_linnerud": Task("regression", outputs=3),
        "load_breast_cancer": Task("binary"),
        "load_iris": Task("multi-class", outputs=3),
        "load_digits": Task("multi-class", outputs=10),
    }
    for name, task in kinds.items():
        targets = getattr(sklearn.datasets, name)(return_X_y=True)[1]
        assert find_task(torch.from_numpy(targets)) == task, name
    labels = sklearn.datasets.make_multilabel_classification(random_state=0)[1]
    assert find_task(torch.from_numpy(labels)) == Task("multi-label", outputs=5)


def test_outputs_losses_and_predictions_by_hand():
    s = torch.tensor([[math.log(3)], [-math.log(3)]])
    head = Head(7, Task("binary", labels=(-1, 1)))
    torch.testing.assert_close(head.probabilities(s), torch.tensor([0.75, 0.25]))
    assert head.predict(s).tolist() == [1, -1]
    torch.testing.assert_close(head.loss(s, torch.tensor([1, 1])), torch.tensor([4 / 3, 4]).log())

    head = Head(7, Task("regression"))
    assert torch.equal(head.predict(s), s[:, 0])
    torch.testing.assert_close(head.loss(s, torch.zeros(2)), torch.full((2,), math.log(3) ** 2))

    s = torch.tensor([[0.0, math.log(2), 0.0]])
    head = Head(7, Task("multi-class", outputs=3))
    torch.testing.assert_close(head.probabilities(s), torch.tensor([[0.25, 0.5, 0.25]]))
    assert head.predict(s).tolist() == [1]
    torch.testing.assert_close(head.loss(s, torch.tensor([2])), torch.tensor([math.log(4)]))

    head = Head(7, Task("multi-label", outputs=3))
    torch.testing.assert_close(head.probabilities(s), torch.tensor([[0.5, 2 / 3, 0.5]]))
    assert head.predict(s - 1).tolist() == [[False, False, False]]
    assert head.predict(s).tolist() == [[True, True, True]]
    expected = torch.tensor([(2 * math.log(2) + math.log(3 / 2)) / 3])
    for labels in (torch.tensor([[0, 1, 0]]), torch.tensor([[False, True, False]]), torch.tensor([[0.0, 1.0, 0.0]])):
        torch.testing.assert_close(head.loss(s, labels), expected)


@pytest.mark.parametrize(
    ("task", "targets"),
    [
        (Task("regression"), torch.randn(2, 5)),
        (Task("regression", outputs=3), torch.randn(2, 5, 3)),
        (Task("binary", labels=(False, True)), torch.randn(2, 5) > 0),
        (Task("binary", labels=(0.0, 1.0)), (torch.randn(2, 5) > 0).float()),
        (Task("multi-class", outputs=3), torch.randint(3, (2, 5))),
        (Task("multi-label", outputs=3), torch.randn(2, 5, 3) > 0),
        (Task("multi-label", outputs=1), torch.randn(2, 5, 1) > 0),
    ],
    ids=lambda x: x.kind if isinstance(x, Task) else "",
)
def test_leading_axes_and_the_form_of_predictions(task, targets):
    head = Head(7, task)
    s = head(torch.randn(2, 5, 7))
    assert s.shape == (2, 5, task.outputs)
    assert head.loss(s, targets).shape == (2, 5)
    predictions = head.predict(s)
    assert (predictions.shape, predictions.dtype) == (targets.shape, targets.dtype)
    assert head.metric.function(targets, targets) == 1


def train(head: Head, x: torch.Tensor, y: torch.Tensor, penalty: float = 0.0) -> None:
    optimizer = torch.optim.LBFGS(head.parameters(), max_iter=500, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        J = cost(head.loss(head(x), y)) + penalty * head.linear.weight.square().sum()
        J.backward()
        return J

    optimizer.step(closure)


def table(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = (torch.from_numpy(part) for part in getattr(sklearn.datasets, name)(return_X_y=True))
    return ((x - x.mean(0)) / x.std(0).clamp(min=1e-9)).double(), y


def test_from_the_data_alone(float64):
    """The same lines train on all four kinds of targets, and reach what scikit-learn's linear models reach."""
    logistic = sklearn.linear_model.LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    several = sklearn.datasets.make_multilabel_classification(random_state=0)
    tables = {
        "regression": (*table("load_diabetes"), sklearn.linear_model.LinearRegression(), sklearn.metrics.r2_score),
        "binary": (*table("load_breast_cancer"), logistic, sklearn.metrics.accuracy_score),
        "multi-class": (*table("load_iris"), logistic, sklearn.metrics.accuracy_score),
        "multi-label": (
            *map(torch.from_numpy, several),
            sklearn.multiclass.OneVsRestClassifier(logistic),
            lambda y, guess: sklearn.metrics.f1_score(y, guess, average="micro"),
        ),
    }
    for kind, (x, y, peer, score) in tables.items():
        head = Head(x.shape[1], find_task(y))
        assert head.task.kind == kind
        # scikit-learn's C = 1 is a penalty of ½‖w‖² on the summed losses; ours average over examples and labels
        train(head, x, y, penalty={"regression": 0, "multi-label": 0.5 / y.numel()}.get(kind, 0.5 / len(x)))
        theirs = score(y.numpy(), peer.fit(x.numpy(), y.numpy()).predict(x.numpy()))
        assert head.metric.function(head.predict(head(x)), y) == pytest.approx(theirs, abs=1e-6), kind


def test_counts_may_be_values():
    """Integers whose caller says that they are numbers to predict, with the loss and metric of those numbers."""
    s, counts = torch.randn(11, 1), torch.randint(5, (11,))
    head = Head(2, find_task(counts, "regression"))
    torch.testing.assert_close(head.loss(s, counts), head.loss(s, counts.float()))
    assert head.metric.function(head.predict(s), counts) == head.metric.function(head.predict(s), counts.float())


def test_metric_names():
    names = {kind: Head(2, Task(kind, outputs)).metric.name for kind, outputs in (("regression", 3), ("binary", 1))}
    names |= {kind: Head(2, Task(kind, 3)).metric.name for kind in ("multi-class", "multi-label")}
    assert names == {"regression": "R²", "binary": "accuracy", "multi-class": "accuracy", "multi-label": "F1"}


def test_same_as_torch(float64):
    s, y = torch.randn(11, 3), torch.randint(3, (11,))
    ours = cost(Head(2, Task("multi-class", 3)).loss(s, y))
    torch.testing.assert_close(ours, F.cross_entropy(s, y))
    labels = torch.randn(11, 3) > 0
    ours = cost(Head(2, Task("multi-label", 3)).loss(s, labels))
    torch.testing.assert_close(ours, F.binary_cross_entropy_with_logits(s, labels.double()))


def test_tap_and_print():
    head = Head(3, Task("multi-class", outputs=7))
    with cut.trace(head, "output") as seen:
        s = head(torch.randn(5, 3))
    assert seen["output"] is s
    assert str(head).startswith("Head(\n  multi-class\n")


def test_meta_device():
    with torch.device("meta"):
        assert Head(3, Task("multi-class", outputs=7)).linear.weight.is_meta


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (torch.zeros(0), "targets must hold at least one element, got shape (0,); skip empty batches"),
        (torch.full((4,), 2.5), "targets must differ, got 2.5 in all 4; there is nothing to learn"),
        (torch.ones(4, dtype=torch.long), "targets must differ, got 1 in all 4"),
        (torch.tensor([True, True]), "targets must differ, got True in all 2"),
        (torch.ones(4, 3), "targets must differ, got one row in all 4"),
        (torch.tensor([1.0, nan, inf]), "targets must be finite, got 2 NaN or infinite of 3; leave those examples out"),
        (torch.tensor([-1, 0, 1]), "class ids must be 0 or more, got -1; renumber them with torch.unique("),
        (torch.tensor([1990, 2001, 2020]), "got 3 distinct ids up to 2020; renumber them with torch.unique("),
        (
            torch.tensor([[0, 2], [1, 0]]),
            "labels must be a matrix of 0 and 1, got shape (2, 2) with values from 0 to 2;",
        ),
        (
            torch.eye(3).long(),
            "got shape (3, 3) with one 1 in every row; pass targets.argmax(-1) for classes, or kind=",
        ),
        (torch.tensor([[0], [1]]), "targets of one column must have shape (examples,), got (2, 1); pass targets[:, 0]"),
        (torch.randn(2, 3, 4), "targets must have shape (examples,) or (examples, outputs), got (2, 3, 4); flatten"),
        (torch.tensor([1j, 2j]), "targets must be real, got torch.complex64; predict real and imaginary parts"),
    ],
    ids=lambda x: x[:40] if isinstance(x, str) else "",
)
def test_targets_that_are_no_task(targets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        find_task(targets)


@pytest.mark.parametrize(
    ("targets", "kind", "message"),
    [
        (
            torch.tensor([0, 1]),
            "classes",
            "kind must be one of regression, binary, multi-class, multi-label, got 'classes'",
        ),
        (
            torch.tensor([0.5, 1.0]),
            "binary",
            "targets of a binary task must be whole numbers, got fractions; use kind=",
        ),
        (torch.tensor([0, 1, 2]), "binary", "a binary task has 2 distinct targets, got 3; use kind='multi-class'"),
        (
            torch.eye(3),
            "multi-class",
            "targets of a multi-class task must have shape (examples,), got (3, 3); from one-hot",
        ),
        (
            torch.tensor([0, 1]),
            "multi-label",
            "labels must be a matrix of 0 and 1, got shape (2,) with values from 0 to 1",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) and len(x) < 12 else "",
)
def test_kinds_that_do_not_fit(targets, kind, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        find_task(targets, kind)


def test_bad_tasks_and_heads():
    with pytest.raises(
        ValueError, match="kind must be one of regression, binary, multi-class, multi-label, got 'label'"
    ):
        Task("label")
    with pytest.raises(ValueError, match="outputs must be above 0, got 0; try outputs=1"):
        Task("regression", outputs=0)
    with pytest.raises(
        ValueError, match="a binary task has outputs=1, got outputs=2; for two classes with an output each"
    ):
        Task("binary", outputs=2)
    with pytest.raises(ValueError, match=r"the two labels must differ, got 1 twice; the default is labels=\(0, 1\)"):
        Task("binary", labels=(1, 1))
    with pytest.raises(ValueError, match="a multi-class task needs outputs=2 or more, got outputs=1; for one use"):
        Task("multi-class", outputs=1)
    with pytest.raises(ValueError, match="width must be above 0, got 0; try width=1"):
        Head(0, Task("regression"))
    with pytest.raises(
        ValueError, match="probabilities need a classification task, got kind='regression'; use predict"
    ):
        Head(3, Task("regression")).probabilities(torch.ones(5, 1))
    with pytest.raises(ValueError, match=r"got \(5,\) and \(5, 1\); reshape one of them"):
        Head(3, Task("regression")).loss(torch.ones(5, 1), torch.ones(5, 1))
