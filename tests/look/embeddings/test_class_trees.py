"""Pictures of trees over classes: the path, its probabilities, what is left out of a large tree, and bad input."""

import pytest
import torch
from look.rendered import expect_drawn, words_of

from cutaway.blocks import HierarchicalSoftmax, Tree
from cutaway.look import class_tree


def sets_of(picture) -> dict:
    return picture.spec()["datasets"]


def test_the_whole_of_a_small_tree():
    """The notes' 16 classes: the path touches 4 of 15 vertices, and the shares of its branches make p."""
    layer, names = HierarchicalSoftmax(4, 16), [f"name {c}" for c in range(16)]
    p = layer(torch.randn(4)).exp().detach()
    picture = class_tree(layer.tree.to_nested(), names, target=5, probabilities=p)
    sets = sets_of(picture)
    assert len(sets["vertices"]) == 15
    assert sum(vertex["on"] for vertex in sets["vertices"]) == 4
    assert [end["name"].replace("␣", " ") for end in sets["ends"]] == names
    shares = [float(row["share"]) for row in sorted(sets["shares"], key=lambda row: row["x"])]
    assert len(shares) == 4
    assert torch.tensor(shares).prod().item() == pytest.approx(p[5].item(), rel=0.1)  # they have two digits
    assert "touches 4 of them" in picture.alt
    assert {"on the path", "beside it"} <= set(words_of(picture))
    expect_drawn(picture)


def test_of_a_large_tree_the_path_and_its_neighbourhood():
    tree = Tree.huffman(1 / torch.arange(1, 1001))
    sets = sets_of(class_tree(tree.to_nested(), target=321))
    assert sum(vertex["on"] for vertex in sets["vertices"]) == len(tree.path(321))
    assert len(sets["ends"]) < 40
    held = [int(end["name"].split()[0].replace(",", "")) for end in sets["ends"] if not end["drawn"]]
    assert sum(held) + sum(end["drawn"] for end in sets["ends"]) == 1000  # nothing is lost
    assert "class 321" in [end["name"].replace("␣", " ") for end in sets["ends"]]


def test_of_many_branches_those_beside_the_path():
    sets = sets_of(class_tree([list(range(500)), list(range(500, 1000))], target=700))
    words = [end["name"].replace("␣", " ") for end in sets["ends"]]
    assert words[1:] == [
        "197 classes: class 500, class 501 …",
        *(f"class {c}" for c in range(697, 704)),
        "296 classes: class 704, class 705 …",
    ]


def test_without_a_path_the_first_levels():
    picture = class_tree(Tree.balanced(5000, 3).to_nested())
    assert 3 <= len(sets_of(picture)["ends"]) <= 24
    assert "shares" not in sets_of(picture)
    nested = [0, 1]
    for c in range(2, 3000):
        nested = [c, nested]
    assert class_tree(nested, target=2990).title == "The path to class 2990"  # deep, without recursion


def test_bad_input():
    with pytest.raises(ValueError, match="names must be one for each of the 3 classes, got 1"):
        class_tree([0, [1, 2]], ["a"])
    with pytest.raises(ValueError, match="probabilities must be one for each of the 3 classes, got 2"):
        class_tree([0, [1, 2]], probabilities=[0.5, 0.5])
    with pytest.raises(ValueError, match="target must be a class from 0 to 2, got 3; the tree has no other"):
        class_tree([0, [1, 2]], target=3)
    with pytest.raises(ValueError, match=r"numbered from 0, each once, got \[0, 2, 2\] …; pass tree.to_nested"):
        class_tree([0, [2, 2]])
