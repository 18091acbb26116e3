"""The files beside a tokenizer.json. Read with it: test_chat_templates.py."""

import json

from cutaway.data.text.tokenizer_settings import read_settings, special_names


def test_a_folder_without_any(tmp_path):
    assert read_settings(tmp_path) == {}


def test_roles_of_either_file(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": None, "pad_token": "<p>", "x": 1}))
    older = {"eos_token": {"content": "<e>"}, "pad_token": "<q>", "additional_special_tokens": ["<a>"]}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(older))
    found = read_settings(tmp_path)
    assert found == {"eos_token": {"content": "<e>"}, "pad_token": "<p>", "x": 1}
    assert special_names(found) == {"eos_token": "<e>", "pad_token": "<p>"}


def test_roles_that_are_no_tokens():
    assert special_names({"eos_token": 5, "bos_token": {"text": "<s>"}, "pad_token": ["<p>"]}) == {}
