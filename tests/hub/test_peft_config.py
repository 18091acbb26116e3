"""adapter_config.json: patterns of ranks and α, as peft reads them."""

import pytest

from cutaway.hub.peft_config import alpha_of, read_lora, write_lora


def test_the_most_common_rank_is_the_rule_and_the_others_patterns():
    ranks, alphas = {"a.q": 2, "a.v": 4, "b.q": 4}, {"a.q": 3.0, "a.v": 8.0, "b.q": 8.5}
    config = write_lora(ranks, alphas, 0.1, "lora", False, False, False, ["head"], None)
    assert (config["r"], config["rank_pattern"]) == (4, {"a.q": 2})
    assert {name: alpha_of(config, name, ranks[name]) for name in alphas} == alphas
    assert (config["bias"], config["modules_to_save"], config["lora_dropout"]) == ("lora_only", ["head"], 0.1)
    read_lora(config)


def test_patterns_are_regular_expressions_of_the_end_of_a_name():
    config = {"lora_alpha": 8, "alpha_pattern": {r"layer\.1.*": 3, "query": 5}}
    assert alpha_of(config, "bert.layer.0.query", 4) == 5
    assert alpha_of(config, "bert.layer.1.query", 4) == 3
    assert alpha_of(config, "bert.layer.0.value", 4) == 8


def test_the_scale_is_that_of_the_rank_that_was_asked_for():
    config = {"lora_alpha": 8, "r": 4, "rank_pattern": {"query": 16}}
    assert alpha_of(config, "value", 4) == 8
    assert alpha_of(config, "query", 16) == 8
    assert alpha_of(config, "query", 4) / 4 == 8 / 16
    assert alpha_of(config | {"use_rslora": True}, "query", 4) / 4**0.5 == 8 / 16**0.5


def test_what_we_cannot_do_is_refused():
    with pytest.raises(ValueError, match="bias must be one of none, all, lora_only, got 'some'"):
        read_lora({"peft_type": "LORA", "bias": "some"})
    with pytest.raises(ValueError, match="use_qalora must not be set"):
        read_lora({"peft_type": "LORA", "use_qalora": True})


def test_damaged_numbers_and_patterns_are_told():
    with pytest.raises(ValueError, match=r"lora_alpha must be a number, got None in adapter_config\.json"):
        alpha_of({"lora_alpha": None}, "a", 4)
    with pytest.raises(ValueError, match="a must be a number, got 'two'"):
        alpha_of({"alpha_pattern": {"a": "two"}}, "a", 4)
    with pytest.raises(ValueError, match="r must be at least 1, got 0"):
        alpha_of({"r": 0}, "a", 4)
    for patterns in (["x"], {"(": 1}):
        with pytest.raises(ValueError, match="alpha_pattern must map patterns of names to numbers, got"):
            read_lora({"peft_type": "LORA", "alpha_pattern": patterns})
