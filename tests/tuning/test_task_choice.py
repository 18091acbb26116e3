"""The task that base and data are for."""

from pathlib import Path

import pytest
from tiny_bases import reviews, tiny_bert, tiny_gpt

from cutaway.tuning.task_choice import find_task, served_tasks


def test_the_task_is_found_where_it_is_plain(tmp_path: Path):
    bert, data = str(tiny_bert(tmp_path / "bert")), reviews(tmp_path / "reviews.csv")
    found = find_task(bert, data)
    assert found.kind.task == "classify"
    assert found.why == f"{bert} is a BERT and {data} looks like a table of texts and labels"
    assert find_task(bert, data, "classify").why == ""
    assert served_tasks(bert)[0] == "BERT"
    assert "chat" in served_tasks(str(tiny_gpt(tmp_path / "gpt")))[1]


def test_what_is_not_plain_is_asked_for(tmp_path: Path):
    bert = str(tiny_bert(tmp_path / "bert"))
    odd = tmp_path / "odd.bin"
    odd.write_bytes(b"\x00")
    with pytest.raises(
        ValueError, match=r"task must be named where the data does not tell it, got .*odd.bin for a BERT"
    ):
        find_task(bert, odd)
    with pytest.raises(ValueError, match=r"task must be one of .*classify.*, got 'classes'"):
        find_task(bert, odd, "classes")
