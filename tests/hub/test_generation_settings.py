"""generation_config.json: all end tokens, and ids for saving. What is kept through files: test_pretrained.py."""

import json

from cutaway.data.text.tokenizers import Characters
from cutaway.hub.generation_settings import generation_to_save, read_generation, with_all_ends, with_special_ids
from cutaway.models import GPT, BERTSpec, GPTSpec

SPEC = GPTSpec.llama(vocabulary=9, width=8, depth=1, heads=2, context=4).but(end=(2,))


def test_ends_of_both_files_count(tmp_path):
    config = {"bos_token_id": 1, "eos_token_id": 2, "vocab_size": 9}
    assert read_generation(tmp_path, config) == {"bos_token_id": 1, "eos_token_id": 2}
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 2, 7], "top_k": 5}))
    found = read_generation(tmp_path, config)
    assert found == {"bos_token_id": 1, "eos_token_id": [7, 2, 7], "top_k": 5}
    assert with_all_ends(SPEC, found).end == (2, 7)
    bert = BERTSpec.bert(vocabulary=9, width=8, depth=1, heads=2, context=4)
    assert with_all_ends(bert, found) is bert, "it writes no text"


def test_ids_that_are_written():
    model = GPT(SPEC)
    assert generation_to_save(model) is None
    assert with_special_ids({"pad_token_id": None, "eos_token_id": 2}, model) == {
        "pad_token_id": None,
        "eos_token_id": 2,
    }
    model.tokenizer = Characters("ab", special=["<p>", "<b>"])
    model.tokenizer.settings = {"pad_token": "<p>", "bos_token": "<b>"}
    model.generation_config = {"bos_token_id": 0, "top_k": 5, "eos_token_id": 8}
    written = with_special_ids({"pad_token_id": None, "eos_token_id": 2}, model)
    assert written == {"bos_token_id": 0, "pad_token_id": 2, "eos_token_id": 2}, (
        "what the layout says, the file, the roles"
    )
    assert generation_to_save(model) == {"bos_token_id": 0, "top_k": 5, "eos_token_id": 2}
