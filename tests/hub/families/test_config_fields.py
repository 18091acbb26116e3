"""Fields of a configuration: null is absent, kinds and ranges are checked. Through whole files: test_pretrained.py."""

import pytest

from cutaway.hub.families import config_fields as fields


def test_null_is_absent():
    config = {"a": None, "model_type": "gpt2"}
    assert fields.whole(config, "a", 3) == 3
    assert fields.part(config, "a") == {}
    with pytest.raises(ValueError, match=r"config.json of a gpt2 must state a, got one without it; download it again"):
        fields.whole(config, "a")


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "2", [2], 2**31])
def test_sizes(value):
    with pytest.raises(ValueError, match=r"a in config.json must be a whole number from 1 to 2147483647, got .*;"):
        fields.whole({"a": value}, "a")


def test_ids_of_tokens():
    assert fields.tokens({"a": [3, -1, 4]}, "a") == (3, 4)
    assert fields.tokens({"a": 3}, "a") == (3,)
    assert fields.tokens({}, "a") == ()
    assert fields.token({"a": -1}, "a") is None, "how some write none"
    with pytest.raises(
        ValueError, match=r"a in config.json must be the id of a token, or a list of them, got \['x'\];"
    ):
        fields.tokens({"a": ["x"]}, "a")


def test_labels_by_number():
    assert fields.label_names({"id2label": {"1": "b", "0": "a"}}) == ("a", "b")
    assert fields.label_names({"num_labels": 10**9}) == 10**9, "counted, not listed"


def test_long_values_are_cut():
    with pytest.raises(ValueError, match=r"must be a name, got \[1, 1, 1, .{40,50}…; download"):
        fields.name({"a": [1] * 1000}, "a", "x")
