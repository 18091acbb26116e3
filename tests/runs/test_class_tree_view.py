"""The view of a hierarchical softmax suits runs that have one, and finds names, target and probabilities."""

from types import SimpleNamespace

import torch
from torch import nn

from cutaway.blocks import FullSoftmax, HierarchicalSoftmax
from cutaway.registry import views
from cutaway.runs.views.class_trees import class_path, has_class_tree
from cutaway.tasks.subjects import Subject

WORDS = [f"w{i}" for i in range(12)]


def run_of(model: nn.Module, words: list[str] | None = WORDS) -> SimpleNamespace:
    recipe = SimpleNamespace(name="mine")
    if words is not None:
        recipe.lexicon = lambda run: SimpleNamespace(words=words)
    return SimpleNamespace(model=model, recipe=recipe, tokenizer=None)


def test_suits_runs_with_a_tree():
    assert has_class_tree(run_of(nn.Sequential(nn.Linear(3, 4), HierarchicalSoftmax(4, 12))))
    assert not has_class_tree(run_of(FullSoftmax(4, 12)))
    assert "class_path" in {view.name for view in views() if view.report}


def test_the_named_class_else_the_likeliest():
    model = nn.Sequential(nn.Linear(3, 4), HierarchicalSoftmax(4, 12))
    x = torch.randn(1, 3)
    (picture,) = class_path(run_of(model), Subject((x,), tokens=("??", "w7")))
    assert picture.title == "The path to w7"
    assert "their product is" in picture.note
    (picture,) = class_path(run_of(model), Subject((x,)))
    assert picture.title == f"The path to w{int(model(x).argmax())}"
    (picture,) = class_path(run_of(model, words=None), Subject())
    assert picture.title == "The path to class 11"
    assert "product" not in picture.note
