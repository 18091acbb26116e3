"""How one of our tensors is made of theirs, and back."""

import torch

from cutaway.hub.tensor_rules import Rule, joined, linear, norm, qkv, same, turned


def under(tensors: dict[str, torch.Tensor]):
    """What a file does: tensors under one another."""
    return lambda names: torch.cat([tensors[name] for name in names])


def test_turned_parts_side_by_side():
    """By hand: theirs are (outputs, inputs); ours has their transposes side by side."""
    q, k = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    rule = joined(["q", "k"], [1, 2])
    ours = rule.load(under({"q": q, "k": k}))
    assert torch.equal(ours, torch.tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]))
    back = rule.save(ours)
    assert torch.equal(back["q"], q)
    assert torch.equal(back["k"], k)


def test_filters_of_a_convolution():
    """Theirs are (outputs, channels, height, width), ours (channels × height × width, outputs)."""
    filters = torch.arange(2 * 3 * 2 * 2.0).view(2, 3, 2, 2)
    rule = Rule(("f",), turned=True, shape=(2, 3, 2, 2))
    ours = rule.load(under({"f": filters}))
    assert ours.shape == (12, 2)
    assert ours[5, 1] == filters[1, 1, 0, 1]
    assert torch.equal(rule.save(ours)["f"], filters)


def test_an_axis_that_theirs_has_more():
    positions = torch.randn(1, 5, 3)
    rule = Rule(("p",), shape=(1, 5, 3))
    assert torch.equal(rule.load(under({"p": positions})), positions[0])
    assert torch.equal(rule.save(positions[0])["p"], positions)


def test_a_copy_is_written_and_not_read():
    rule = Rule(("a",), copies=("b",))
    assert torch.equal(rule.load(under({"a": torch.ones(2)})), torch.ones(2))
    assert set(rule.save(torch.ones(2))) == {"a", "b"}


def test_saved_parts_are_contiguous():
    """Safetensors stores nothing else."""
    for rule in (turned("a"), same("a"), joined(["a", "b"], [2, 3], turn=False)):
        assert all(part.is_contiguous() for part in rule.save(torch.randn(4, 5)).values())


def test_names():
    assert set(linear("x", "y")) == {"x.weight", "x.bias"}
    assert set(norm("x", "y", bias=False)) == {"x.weight"}
    rules = qkv("x", ["a", "b"], [1, 1])
    assert rules["x.weight"].theirs == ("a.weight", "b.weight")
    assert not rules["x.bias"].turned


def test_a_turned_tensor_is_a_view():
    weight = torch.randn(3, 5)
    ours = turned("a").load(lambda names: weight)
    assert ours.shape == (5, 3)
    assert ours.data_ptr() == weight.data_ptr()
