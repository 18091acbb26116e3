"""Conversations of any form."""

import json
from pathlib import Path

import pytest
from tiny_bases import word_tokenizer

from cutaway.data.text.chat.conversations import (
    as_conversation,
    encode_conversations,
    mark_answers,
    read_conversations,
)

ASKED = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize(
    "row",
    [
        {"messages": ASKED},
        ASKED,
        {"prompt": "Hi", "response": "Hello"},
        {"instruction": "Hi", "output": "Hello", "input": ""},
        {"Question": "Hi", "Answer": "Hello"},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
    ],
)
def test_every_form_is_the_same_conversation(row: object):
    assert as_conversation(row, "here") == ASKED


def test_json_lines_lists_and_tables_are_read(tmp_path: Path):
    rows = [{"prompt": f"ask {i}", "response": f"say {i}"} for i in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.csv").write_text("prompt,response\n" + "".join(f"ask {i},say {i}\n" for i in range(20)))
    found = [read_conversations(tmp_path / name).splits.train for name in ("a.jsonl", "a.json", "a.csv")]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 16
    with pytest.raises(ValueError, match=r"must be JSON, one a line, got line 2 of b.jsonl"):
        (tmp_path / "b.jsonl").write_text('{"prompt": "a", "response": "b"}\n{"prompt"\n')
        read_conversations(tmp_path / "b.jsonl")
    with pytest.raises(ValueError, match=r"a column of prompts and one of answers, got x, y"):
        (tmp_path / "b.csv").write_text("x,y\n1,2\n3,4\n")
        read_conversations(tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"file of JSON lines or a table, got .*none"):
        read_conversations(tmp_path / "none.jsonl")


def test_roles_of_other_names_and_of_none(tmp_path):
    row = {"conversations": [{"from": "Human", "value": "the cat"}, {"from": "GPT", "value": "sat"}]}
    assert [message["role"] for message in as_conversation(row, "here")] == ["user", "assistant"]
    path = tmp_path / "chats.jsonl"
    odd = {"messages": [{"role": "narrator", "content": "a"}, {"role": "assistant", "content": "b"}]}
    path.write_text("\n".join(json.dumps(one) for one in [row, row, odd]))
    with pytest.raises(ValueError, match=r"the role of a message .* got 'narrator'; .*\(in line 3 of chats.jsonl\)"):
        read_conversations(path, 0.0, 0.0)
    template = '{% for m in messages %}{% if m.role == "narrator" %}…{% endif %}{% endfor %}'
    assert read_conversations(path, 0.0, 0.0, template=template).counts["train"] == 3


def test_conversations_that_ask_the_same_are_in_one_part(tmp_path):
    path = tmp_path / "chats.jsonl"
    asked = [f"Question  {i % 25}?" if i % 2 else f" question {i % 25}? " for i in range(100)]
    path.write_text("\n".join(json.dumps({"prompt": one, "response": f"answer {i}"}) for i, one in enumerate(asked)))
    found = read_conversations(path, 0.2, 0.2)
    parts = [found.splits.train, found.splits.validation or [], found.splits.open_test()]
    keys = [{" ".join(one[0]["content"].lower().split()) for one in part} for part in parts]
    assert not (keys[0] & keys[1])
    assert not (keys[0] & keys[2])
    assert not (keys[1] & keys[2])
    assert [len(part) for part in parts] == [60, 20, 20]
    assert "75 conversations come again; each stays in one part" in found.summary()
    before = read_conversations(path, 0.2, 0.2, together=False)
    assert "come again" not in before.summary()
    path.write_text("\n".join(json.dumps({"prompt": "Hi", "response": f"{i}"}) for i in range(30)))
    with pytest.raises(ValueError, match=r"none for validation=0.1 of 30, which ask 1 different things .*validation=0"):
        read_conversations(path)


TALK = [
    {"role": "user", "content": "the film"},
    {"role": "assistant", "content": "so fine"},
    {"role": "user", "content": "the plot"},
    {"role": "assistant", "content": "so dull"},
]
# Earlier answers lose their "very", as earlier thoughts do in templates of models that think.
THINKS = (
    "{% for m in messages %}{% if m.role == 'user' %}a {{ m.content }} {% else %}it "
    "{% if loop.last %}very {% endif %}{{ m.content }} and {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}it {% endif %}"
)
# The last question alone has what the system said; and a thought is begun for the model.
MOVES = (
    "{% for m in messages %}{% if m.role == 'user' %}{% if m == messages|selectattr('role', 'eq', 'user')|list|last %}"
    "warm {% endif %}{{ m.content }} {% else %}{{ m.content }} and {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}very {% endif %}"
)


def learned(template, messages=TALK):
    tokenizer = word_tokenizer()
    tokenizer.settings["chat_template"] = template
    texts = mark_answers(tokenizer, messages)
    return [
        " ".join(tokenizer.decode([token]).upper() if mark else tokenizer.decode([token]) for token, mark in zip(*text))
        for text in texts
    ]


def test_answers_that_a_template_writes_otherwise_when_others_follow_are_learned_as_they_were():
    assert learned(THINKS) == [
        "a the film it so fine and a the plot it VERY SO DULL AND",
        "a the film it VERY SO FINE AND",
    ]
    assert learned(MOVES) == [
        "the film so fine and warm the plot SO DULL AND",
        "warm the film SO FINE AND",
    ]
    assert learned("{% for m in messages %}{{ m.content }} {% endfor %}") == ["the film SO FINE the plot SO DULL"]
    tokenizer = word_tokenizer()
    tokenizer.settings["chat_template"] = THINKS
    texts = encode_conversations(tokenizer, [TALK, TALK[:2]], 8)
    assert [len(row) for row in texts.tokens] == [8, 8], "of the first, no answer of the whole text is within 8 tokens"
    assert (texts.cut, texts.left_out) == (1, 0)


@pytest.mark.parametrize(
    "template",
    [
        "the film",
        "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
        "{% for m in messages|reverse %}{{ m.content }}{% endfor %}",
    ],
)
def test_a_template_that_does_not_write_the_answers(template: str):
    with pytest.raises(ValueError, match=r"must write answers after what was said .* leaves out or moves 'so "):
        learned(template, TALK[:2])


def test_half_a_character():
    with pytest.raises(ValueError, match=r"whole characters, got half of one at position 9 of 'the film .ud83d'"):
        learned("{{ messages[0].content }} {% if not add_generation_prompt %}\ud83d{% endif %}", TALK[:2])
